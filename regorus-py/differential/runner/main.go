// Calls OPA's builtins: a JSON object {"name", "arguments"} in each line of the input, an outcome in each of the output.
// {"module"} is compiled instead; its outcome is {"value": ["code: message", …]} with OPA's complaints. {"module",
// "query", "input"} evaluates the query in it. {"expression"} is evaluated as an expression of Rego.
//
// A set is {"$set": […]} in both directions; an outcome is {"value": …}, {"error": "…"} or {} where there is none.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/topdown/builtins"
)

type call struct {
	Name       string            `json:"name"`
	Arguments  []json.RawMessage `json:"arguments"`
	Module     string            `json:"module"`
	Expression string            `json:"expression"`
	Query      string            `json:"query"`
	Input      json.RawMessage   `json:"input"`
}

// complaints gives what OPA says of a module.
func complaints(module string) string {
	found := []string{}
	_, err := ast.CompileModules(map[string]string{"policy.rego": module})
	var errs ast.Errors
	if errors.As(err, &errs) {
		for _, one := range errs {
			found = append(found, one.Code+": "+one.Message)
		}
	} else if err != nil {
		found = append(found, err.Error())
	}
	encoded, _ := json.Marshal(found)
	return `{"value":` + string(encoded) + `}`
}

// calculated gives the outcome of an expression.
func calculated(expression string) string {
	compiler := ast.NewCompiler()
	compiler.Compile(nil)
	return queried(compiler, expression, nil)
}

// decided gives the outcome of a query in a module.
func decided(module, query string, raw json.RawMessage) string {
	compiler, err := ast.CompileModules(map[string]string{"policy.rego": module})
	if err != nil {
		return failure(err)
	}
	input, err := term(raw)
	if err != nil {
		return failure(err)
	}
	return queried(compiler, query, input)
}

func queried(compiler *ast.Compiler, expression string, input *ast.Term) string {
	body, err := ast.ParseBody("x = " + expression)
	if err != nil {
		return failure(err)
	}
	query, err := compiler.QueryCompiler().Compile(body)
	if err != nil {
		return failure(err)
	}
	background, store := context.Background(), inmem.New()
	transaction, err := store.NewTransaction(background)
	if err != nil {
		return failure(err)
	}
	results, err := topdown.NewQuery(query).WithCompiler(compiler).WithInput(input).WithStrictBuiltinErrors(true).
		WithStore(store).WithTransaction(transaction).Run(background)
	if err != nil {
		return failure(err)
	}
	if len(results) == 0 {
		return "{}"
	}
	return outcome(results[0][ast.Var("x")])
}

func term(raw json.RawMessage) (*ast.Term, error) {
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.UseNumber()
	var found any
	if err := decoder.Decode(&found); err != nil {
		return nil, err
	}
	return tagged(found)
}

func terms(items []any) ([]*ast.Term, error) {
	made := make([]*ast.Term, len(items))
	for i := range items {
		var err error
		if made[i], err = tagged(items[i]); err != nil {
			return nil, err
		}
	}
	return made, nil
}

func tagged(found any) (*ast.Term, error) {
	switch found := found.(type) {
	case []any:
		items, err := terms(found)
		return ast.ArrayTerm(items...), err
	case map[string]any:
		if items, ok := found["$set"]; ok {
			items, err := terms(items.([]any))
			return ast.SetTerm(items...), err
		}
		pairs := make([][2]*ast.Term, 0, len(found))
		for key, member := range found {
			value, err := tagged(member)
			if err != nil {
				return nil, err
			}
			pairs = append(pairs, [2]*ast.Term{ast.StringTerm(key), value})
		}
		return ast.ObjectTerm(pairs...), nil
	}
	value, err := ast.InterfaceToValue(found)
	return ast.NewTerm(value), err
}

// write gives a value as JSON: objects in OPA's order, keys that are no strings as their JSON.
func write(out *strings.Builder, value ast.Value) {
	list := func(items *ast.Array) {
		out.WriteByte('[')
		for i := range items.Len() {
			if i > 0 {
				out.WriteByte(',')
			}
			write(out, items.Elem(i).Value)
		}
		out.WriteByte(']')
	}
	text := func(text string) {
		encoded, _ := json.Marshal(text)
		out.Write(encoded)
	}
	switch value := value.(type) {
	case ast.Null:
		out.WriteString("null")
	case ast.Boolean:
		fmt.Fprint(out, bool(value))
	case ast.Number:
		out.WriteString(string(value))
	case ast.String:
		text(string(value))
	case *ast.Array:
		list(value)
	case ast.Set:
		out.WriteString(`{"$set":`)
		list(value.Sorted())
		out.WriteByte('}')
	case ast.Object:
		out.WriteByte('{')
		for i, key := range value.Keys() {
			if i > 0 {
				out.WriteByte(',')
			}
			if name, ok := key.Value.(ast.String); ok {
				text(string(name))
			} else {
				var inner strings.Builder
				write(&inner, key.Value)
				text(inner.String())
			}
			out.WriteByte(':')
			write(out, value.Get(key).Value)
		}
		out.WriteByte('}')
	}
}

func outcome(result *ast.Term) string {
	var out strings.Builder
	out.WriteString(`{"value":`)
	write(&out, result.Value)
	out.WriteByte('}')
	return out.String()
}

func failure(err error) string {
	encoded, _ := json.Marshal(err.Error())
	return `{"error":` + string(encoded) + `}`
}

func answer(line []byte) (found string) {
	defer func() {
		if panicked := recover(); panicked != nil {
			found = failure(fmt.Errorf("panic: %v", panicked))
		}
	}()
	var asked call
	if err := json.Unmarshal(line, &asked); err != nil {
		return failure(err)
	}
	if asked.Query != "" {
		return decided(asked.Module, asked.Query, asked.Input)
	}
	if asked.Module != "" {
		return complaints(asked.Module)
	}
	if asked.Expression != "" {
		return calculated(asked.Expression)
	}
	function := topdown.GetBuiltin(asked.Name)
	if function == nil {
		return failure(fmt.Errorf("unknown builtin"))
	}
	operands := make([]*ast.Term, len(asked.Arguments))
	for i, raw := range asked.Arguments {
		var err error
		if operands[i], err = term(raw); err != nil {
			return failure(err)
		}
	}
	about := topdown.BuiltinContext{
		Context:        context.Background(),
		Metrics:        metrics.New(),
		Time:           ast.NumberTerm(json.Number("1700000000000000000")),
		Cache:          builtins.Cache{},
		NDBuiltinCache: builtins.NDBCache{},
		Cancel:         topdown.NewCancel(),
	}
	found = "{}"
	err := function(about, operands, func(result *ast.Term) error {
		found = outcome(result)
		return nil
	})
	if err != nil {
		return failure(err)
	}
	return found
}

func main() {
	time.Local = time.UTC
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		out.WriteString(answer(line))
		out.WriteByte('\n')
	}
}

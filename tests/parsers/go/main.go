// Reads cases, one JSON object a line, and answers each with what Go's standard library reads.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
)

type testCase struct {
	Kind        string `json:"kind"`
	ContentType string `json:"content_type"`
	Body        []byte `json:"body"`
}

type object = map[string]any

var failed = object{"error": true}

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var one testCase
		if err := json.Unmarshal(line, &one); err != nil {
			panic(err)
		}
		answer, err := json.Marshal(read(one))
		if err != nil {
			panic(err)
		}
		out.Write(append(answer, '\n'))
		out.Flush()
	}
}

func read(one testCase) object {
	switch one.Kind {
	case "multipart":
		return object{"go": readMultipart(one)}
	case "form":
		return object{"go": readForm(one)}
	case "query":
		// As (*url.URL).Query: what cannot be read is dropped.
		values, _ := url.ParseQuery(string(one.Body))
		return object{"go": object{"fields": pairs(values)}}
	case "json":
		return object{"go": readJSON(one.Body)}
	default:
		return object{"go": readContentType(one.ContentType)}
	}
}

func request(one testCase) *http.Request {
	r, err := http.NewRequest("POST", "http://h/", bytes.NewReader(one.Body))
	if err != nil {
		panic(err)
	}
	r.Header.Set("Content-Type", one.ContentType)
	return r
}

func readMultipart(one testCase) object {
	r := request(one)
	if err := r.ParseMultipartForm(64 << 20); err != nil {
		return failed
	}
	files := [][]any{}
	for name, headers := range r.MultipartForm.File {
		for _, header := range headers {
			file, err := header.Open()
			if err != nil {
				return failed
			}
			content, _ := io.ReadAll(file)
			files = append(files, []any{[]byte(name), []byte(header.Filename), content})
		}
	}
	return object{"fields": pairs(r.MultipartForm.Value), "files": files}
}

func readForm(one testCase) object {
	r := request(one)
	if err := r.ParseForm(); err != nil {
		return failed
	}
	return object{"fields": pairs(r.PostForm)}
}

func pairs(values map[string][]string) [][]any {
	found := [][]any{}
	for name, list := range values {
		for _, value := range list {
			found = append(found, []any{[]byte(name), []byte(value)})
		}
	}
	return found
}

func readJSON(body []byte) object {
	var value any
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(&value); err != nil {
		return failed
	}
	return object{"value": value}
}

func readContentType(value string) object {
	media, parameters, err := mime.ParseMediaType(value)
	if err != nil {
		return failed
	}
	return object{"type": media, "charset": parameters["charset"], "boundary": parameters["boundary"]}
}

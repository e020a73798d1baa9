// Decodes Kubernetes manifests (YAML, on standard input) into the types of Kubernetes' own API, and fails on a field that a
// type does not have, or on a value of another type. Prints the documents as JSON, one a line.
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	converter "sigs.k8s.io/yaml"
)

func main() {
	codecs := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict)
	documents := yaml.NewYAMLReader(bufio.NewReader(os.Stdin))
	for {
		document, err := documents.Read()
		if err == io.EOF {
			return
		}
		check(err)
		if len(bytes.TrimSpace(bytes.ReplaceAll(document, []byte("---"), nil))) == 0 {
			continue
		}
		_, _, err = codecs.UniversalDeserializer().Decode(document, nil, nil)
		if err != nil && !runtime.IsNotRegisteredError(err) {
			check(fmt.Errorf("%w in:\n%s", err, document))
		}
		text, err := converter.YAMLToJSON(document)
		check(err)
		fmt.Println(string(text))
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

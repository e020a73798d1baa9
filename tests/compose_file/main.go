// Loads Compose files as `docker compose config` does (the same library), with all profiles, and prints them resolved, as
// JSON. Usage: compose_file FILE... [NAME=VALUE ...]
package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	files := os.Args[1:]
	variables := slices.IndexFunc(files, func(one string) bool { return strings.Contains(one, "=") })
	if variables < 0 {
		variables = len(files)
	}
	options, err := cli.NewProjectOptions(
		files[:variables], cli.WithEnv(files[variables:]), cli.WithProfiles([]string{"*"}))
	if err != nil {
		fail(err)
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		fail(err)
	}
	text, err := project.MarshalJSON()
	if err != nil {
		fail(err)
	}
	fmt.Println(string(text))
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

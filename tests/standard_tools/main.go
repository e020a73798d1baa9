// Opens what Headgate hands out with other people's libraries only: golang.org/x/mod/sumdb/note,
// github.com/transparency-dev/formats and github.com/transparency-dev/merkle.
//
//	standard_tools -key KEY [-cosigner KEY] PACK.zip|CONSISTENCY.json …
//
// A pack: its checkpoint, and the inclusion proof of each event. A consistency answer: both checkpoints, and the proof
// between them. Prints a JSON line for each; status 1 and the reason where one does not hold.
package main

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/transparency-dev/formats/log"
	fnote "github.com/transparency-dev/formats/note"
	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
	"golang.org/x/mod/sumdb/note"
)

type keys struct {
	log       note.Verifier
	cosigners []note.Verifier
}

type verdict struct {
	File     string   `json:"file"`
	Origin   string   `json:"origin"`
	Size     uint64   `json:"size"`
	SignedBy []string `json:"signed_by"`
	Proofs   int      `json:"proofs"`
}

func main() {
	key := flag.String("key", "", "the log's verifier key")
	cosigner := flag.String("cosigner", "", "a witness's verifier key")
	flag.Parse()
	known, err := readKeys(*key, *cosigner)
	for _, file := range flag.Args() {
		var found *verdict
		if err == nil && strings.HasSuffix(file, ".zip") {
			found, err = checkPack(file, known)
		} else if err == nil {
			found, err = checkConsistency(file, known)
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", file, err)
			break
		}
		found.File = file
		line, _ := json.Marshal(found)
		fmt.Println(string(line))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func readKeys(key, cosigner string) (keys, error) {
	logKey, err := note.NewVerifier(key)
	if err != nil {
		return keys{}, fmt.Errorf("-key: %w", err)
	}
	known := keys{log: logKey}
	if cosigner != "" {
		witness, err := fnote.NewVerifier(cosigner)
		if err != nil {
			return keys{}, fmt.Errorf("-cosigner: %w", err)
		}
		known.cosigners = append(known.cosigners, witness)
	}
	return known, nil
}

// open verifies a checkpoint: sumdb/note alone, and the same through formats, whose origin is the key's name.
func open(text string, known keys) (*log.Checkpoint, []string, error) {
	if _, err := note.Open([]byte(text), note.VerifierList(known.log)); err != nil {
		return nil, nil, err
	}
	point, _, opened, err := log.ParseCheckpoint([]byte(text), known.log.Name(), known.log, known.cosigners...)
	if err != nil {
		return nil, nil, err
	}
	var names []string
	for _, one := range opened.Sigs {
		names = append(names, one.Name)
	}
	return point, names, nil
}

func checkPack(file string, known keys) (*verdict, error) {
	archive, err := zip.OpenReader(file)
	if err != nil {
		return nil, err
	}
	defer archive.Close()
	text, err := member(archive, "checkpoint.txt")
	if err != nil {
		return nil, err
	}
	point, names, err := open(string(text), known)
	if err != nil {
		return nil, err
	}
	written, err := member(archive, "events.json")
	if err != nil {
		return nil, err
	}
	var events struct {
		Events []struct{ Header, Proof string }
	}
	if err := json.Unmarshal(written, &events); err != nil {
		return nil, err
	}
	for _, event := range events.Events {
		index, path, err := readProof(event.Proof, string(text))
		if err != nil {
			return nil, err
		}
		entry := sha256.Sum256([]byte(event.Header))
		leaf := rfc6962.DefaultHasher.HashLeaf(entry[:])
		if err := proof.VerifyInclusion(rfc6962.DefaultHasher, index, point.Size, leaf, path, point.Hash); err != nil {
			return nil, fmt.Errorf("event %d: %w", index+1, err)
		}
	}
	return &verdict{Origin: point.Origin, Size: point.Size, SignedBy: names, Proofs: len(events.Events)}, nil
}

func checkConsistency(file string, known keys) (*verdict, error) {
	written, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var answer struct {
		First, Second struct{ Note string }
		Path          []string
	}
	if err := json.Unmarshal(written, &answer); err != nil {
		return nil, err
	}
	first, _, err := open(answer.First.Note, known)
	if err != nil {
		return nil, err
	}
	second, names, err := open(answer.Second.Note, known)
	if err != nil {
		return nil, err
	}
	path, err := hashes(answer.Path)
	if err != nil {
		return nil, err
	}
	hasher := rfc6962.DefaultHasher
	if err := proof.VerifyConsistency(hasher, first.Size, second.Size, path, first.Hash, second.Hash); err != nil {
		return nil, err
	}
	return &verdict{Origin: second.Origin, Size: second.Size, SignedBy: names, Proofs: 1}, nil
}

// readProof reads a C2SP tlog-proof, which ends with the checkpoint that it is of.
func readProof(text, checkpoint string) (uint64, [][]byte, error) {
	head, rest, found := strings.Cut(text, "\n\n")
	lines := strings.Split(head, "\n")
	if !found || rest != checkpoint || len(lines) < 2 || lines[0] != "c2sp.org/tlog-proof@v1" {
		return 0, nil, errors.New("not a proof against checkpoint.txt")
	}
	index, err := strconv.ParseUint(strings.TrimPrefix(lines[1], "index "), 10, 64)
	if err != nil {
		return 0, nil, err
	}
	path, err := hashes(lines[2:])
	return index, path, err
}

func hashes(texts []string) ([][]byte, error) {
	found := make([][]byte, 0, len(texts))
	for _, one := range texts {
		raw, err := base64.StdEncoding.DecodeString(one)
		if err != nil {
			return nil, err
		}
		found = append(found, raw)
	}
	return found, nil
}

func member(archive *zip.ReadCloser, name string) ([]byte, error) {
	file, err := archive.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(file)
}

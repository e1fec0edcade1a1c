package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"runtime/debug"
	"slices"
	"strings"
)

// A bill says what the programs of a release are made of, as their own build
// information has it (go version -m shows the same).
type bill struct {
	release  release
	programs []component
	modules  []component
	within   []dependency
}

// A component of CycloneDX 1.6 (cyclonedx.org/docs/1.6/json).
type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl,omitempty"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}

// add enters a program and the modules in it.
func (b *bill) add(t target, program file) error {
	info, err := buildinfo.ReadFile(program.from)
	if err != nil {
		return fmt.Errorf("build information of %s: %w", program.name, err)
	}
	data, err := os.ReadFile(program.from)
	if err != nil {
		return err
	}
	name := path.Base(program.name)
	ref := t.String() + "/" + name
	b.programs = append(b.programs, component{Type: "application", Ref: ref, Name: name,
		Version:    b.release.version,
		Hashes:     []hash{{"SHA-256", fmt.Sprintf("%x", sha256.Sum256(data))}},
		Properties: []property{{"tri:target", t.String()}}})
	needs := dependency{Ref: ref}
	standard := &debug.Module{Path: "stdlib", Version: strings.TrimPrefix(info.GoVersion, "go")}
	for _, m := range append(info.Deps, standard) {
		for m.Replace != nil {
			m = m.Replace
		}
		c := module(m)
		needs.DependsOn = append(needs.DependsOn, c.Ref)
		if !slices.ContainsFunc(b.modules, func(o component) bool { return o.Ref == c.Ref }) {
			b.modules = append(b.modules, c)
		}
	}
	slices.Sort(needs.DependsOn)
	b.within = append(b.within, needs)
	return nil
}

// module is a Go module. The line of go.sum is a hash of the hashes of its files and
// not of one file, so it is a property, where nobody compares it with an archive.
func module(m *debug.Module) component {
	purl := "pkg:golang/" + m.Path + "@" + strings.ReplaceAll(m.Version, "+", "%2B")
	c := component{Type: "library", Ref: purl, Name: m.Path, Version: m.Version, PURL: purl}
	if m.Sum != "" {
		c.Properties = []property{{"go.sum", m.Sum}}
	}
	return c
}

// json is the bill in the order of names.
func (b *bill) json() ([]byte, error) {
	all := slices.Concat(b.programs, b.modules)
	slices.SortFunc(all, func(x, y component) int { return strings.Compare(x.Ref, y.Ref) })
	slices.SortFunc(b.within, func(x, y dependency) int { return strings.Compare(x.Ref, y.Ref) })
	data, err := json.MarshalIndent(map[string]any{
		"$schema":     "http://cyclonedx.org/schema/bom-1.6.schema.json",
		"bomFormat":   "CycloneDX",
		"specVersion": "1.6",
		"version":     1,
		"metadata": map[string]any{
			"timestamp": b.release.at.Format("2006-01-02T15:04:05Z"),
			"component": component{Type: "application", Ref: "tri", Name: "tri", Version: b.release.version},
		},
		"components":   all,
		"dependencies": b.within,
	}, "", "  ")
	return append(data, '\n'), err
}

func (b *bill) write(path string) error {
	data, err := b.json()
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o666)
}

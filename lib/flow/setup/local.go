package setup

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"tri/lib/base/httpapi"
)

// Server is a program on this machine that runs models.
type Server struct {
	Name   string
	URL    string   // of its chat completions, as base_url in the configuration
	Models []string // that can answer; empty ones are left out by Local
}

// Usual are the programs that run models, at the addresses that they take if nothing else is said
// (docs.ollama.com/api, github.com/ggml-org/llama.cpp tools/server, lmstudio.ai/docs).
var Usual = []Server{
	{Name: "Ollama", URL: "http://127.0.0.1:11434/v1"},
	{Name: "llama.cpp", URL: "http://127.0.0.1:8080/v1"},
	{Name: "LM Studio", URL: "http://127.0.0.1:1234/v1"},
}

const (
	localTime   = 500 * time.Millisecond
	maxModels   = 12  // of one server
	maxModel    = 128 // bytes of a name
	answerModel = "api"
)

// Local asks each server for its models, all at once, and returns those that have some. A server that does
// not answer at once, or not in the form of the list of models, is not there.
func Local(ctx context.Context, servers []Server) []Server {
	found := slices.Clone(servers)
	var all sync.WaitGroup
	for i := range found {
		all.Go(func() { found[i].Models = models(ctx, found[i].URL) })
	}
	all.Wait()
	return slices.DeleteFunc(found, func(s Server) bool { return len(s.Models) == 0 })
}

// models returns the models of a server that can answer questions, none if it cannot be asked.
func models(ctx context.Context, base string) []string {
	direct := &http.Transport{DisableKeepAlives: true} // no proxy: the server is on this machine
	web, err := httpapi.New(httpapi.Options{Base: base, HTTP: &http.Client{Transport: direct}})
	if err != nil {
		return nil
	}
	var list struct {
		Object string `json:"object"`
		Data   []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := web.Once(ctx, httpapi.Request{Method: http.MethodGet, Path: "models", Time: localTime},
		&list); err != nil || list.Object != "list" {
		return nil
	}
	var names []string
	for _, m := range list.Data {
		strange := m.ID == "" || len(m.ID) > maxModel || strings.ContainsFunc(m.ID, func(r rune) bool {
			return unicode.IsSpace(r) || !unicode.IsPrint(r)
		})
		if !strange && !strings.Contains(strings.ToLower(m.ID), "embed") && !slices.Contains(names, m.ID) &&
			len(names) < maxModels {
			names = append(names, m.ID)
		}
	}
	return names
}

// offer adds the models of this machine to the question who investigates, and the question which of them.
func offer(qs []question, servers []Server) []question {
	var all, said []string
	for _, s := range servers {
		all = append(all, s.Models...)
		said = append(said, fmt.Sprintf("%s (%s)", s.Name, strings.Join(s.Models, ", ")))
	}
	i := slices.IndexFunc(qs, func(q question) bool { return slices.Contains(q.choices, "search") })
	qs[i].choices = append(slices.Clone(qs[i].choices), answerModel)
	qs[i].asks += "; api is a model on this machine, free, that also tries to refute the drafts: " +
		strings.Join(said, "; ")
	which := question{asks: "Which model", choices: all, when: func(a *Answers) bool {
		return a.Agent == answerModel
	}, standard: fixed(all[0])}
	which.get = func(a *Answers) string { return a.Model }
	which.set = func(a *Answers, name string) {
		a.Model = name
		for _, s := range servers {
			if slices.Contains(s.Models, name) {
				a.ModelURL = s.URL
				return
			}
		}
	}
	return slices.Insert(qs, i+1, which)
}

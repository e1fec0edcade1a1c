package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"tri/lib/record/draft"
)

var wordMark = regexp.MustCompile(`WORD-\d+-\d+`)

// wordsAgent is an agent program: its answer is the words that it has seen. Kind legs reads its prompt and
// ends; native speaks as Claude Code with stream-json. With "-return" the answer is an investigator's.
func wordsAgent(kind string) error {
	in := bufio.NewReader(os.Stdin)
	kind, returns := strings.CutSuffix(kind, "-return")
	answer := func(seen []string) string {
		said := strings.Join(seen, " ")
		if !returns {
			return said
		}
		// plain values
		b, _ := json.Marshal(draft.Return{Confidence: "low", ConfidenceReason: "r",
			SummaryForOrchestrator: "s", DraftReply: said + " .",
			DraftLanguage: "en", EvidenceRefs: []draft.Ref{}, OpenQuestions: []string{},
			InvestigatorRound: 1})
		return string(b)
	}
	if kind != "legs" {
		return wordsSession(in, answer)
	}
	text, err := in.ReadString(0)
	for range 3 {
		wordsPause()
	}
	fmt.Println(answer(wordMark.FindAllString(text, -1)))
	if text == "" {
		return err
	}
	return nil
}

func wordsPause() { time.Sleep(time.Duration(3+rand.IntN(20)) * time.Millisecond) }

// wordsSaid is a line of stream-json to the agent.
type wordsSaid struct {
	Type, UUID string
	Message    struct{ Content string }
}

// wordsSession is a session of stream-json. It is saved one call late, so that what it acknowledged last is
// lost when it is killed.
func wordsSession(in *bufio.Reader, answer func([]string) string) error {
	session, resume := "", false
	for i, a := range os.Args[:len(os.Args)-1] {
		if a == "--resume" || a == "--session-id" {
			session, resume = os.Args[i+1], a == "--resume"
		}
	}
	file := filepath.Join(os.Getenv("HOME"), "session-"+session)
	saved, err := os.ReadFile(file)
	if resume && err != nil {
		fmt.Println(`{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["No conversation found"]}`)
		os.Exit(1)
	}
	heard := make(chan wordsSaid, 100)
	go wordsRead(in, heard)
	seen := strings.Fields(string(saved))
	fmt.Printf(`{"type":"system","subtype":"init","model":"m","session_id":%q}`+"\n", session)
	take := func(s wordsSaid) {
		seen = append(seen, wordMark.FindAllString(s.Message.Content, -1)...)
		if s.UUID != "" {
			fmt.Printf(`{"type":"command_lifecycle","command_uuid":%q,"state":"started"}`+"\n", s.UUID)
		}
	}
	for {
		take(<-heard)
		for range 3 {
			wordsPause()
			if err := os.WriteFile(file+".new", []byte(strings.Join(seen, " ")), 0o600); err != nil {
				return err
			}
			for more := true; more; {
				select {
				case s := <-heard:
					take(s)
				default:
					more = false
				}
			}
			fmt.Println(`{"type":"assistant","message":{"id":"a","content":[{"type":"tool_use","name":"Read","input":{"file_path":"x"}}]}}`)
			if err := os.Rename(file+".new", file); err != nil {
				return err
			}
		}
		fmt.Printf(`{"type":"result","subtype":"success","is_error":false,"result":%q}`+"\n", answer(seen))
	}
}

// wordsRead passes on what is said, and ends the program at the end of input.
func wordsRead(in *bufio.Reader, heard chan<- wordsSaid) {
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			os.Exit(0)
		}
		var s wordsSaid
		if json.Unmarshal(line, &s) == nil && s.Type == "user" {
			heard <- s
		}
	}
}

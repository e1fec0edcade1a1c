package sample

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"tri/lib/base/config"
	"tri/lib/base/stream"
	"tri/lib/base/sysexit"
)

// Proposal is a phrase that would have the filter see messages which it missed.
type Proposal struct {
	Phrase  string  `json:"phrase"`
	Catches int     `json:"catches"` // labelled misses that would be seen
	Wrong   int     `json:"wrong"`   // rightly dropped ones that would be, too
	More    int     `json:"more"`    // messages of the whole history that would be
	Per100  float64 `json:"more_per_100"`
	Score   float64 `json:"score"` // how much more frequent in misses: log odds, in standard errors
	caught  map[string]bool
}

// Tuning is what the labels propose and what it would change.
type Tuning struct {
	Misses    int        `json:"misses"` // labelled, whatever the version of the filter
	Rights    int        `json:"rightly_dropped"`
	Still     int        `json:"still_missed"` // by the rules as they are
	Messages  int        `json:"messages"`     // of the history
	Proposals []Proposal `json:"proposals"`
	Together  Proposal   `json:"together"` // all of them at once
	keywords  []string   // those that the configuration has already
}

// A phrase is tried when it stands in so many misses at least; with fewer misses
// than enough, a person is told that the proposals may be chance.
const (
	support = 2
	enough  = 10
	precise = 3 // times as many labelled misses as rightly dropped messages it must catch
	trials  = 3 // times as many phrases are tried as proposed
)

// Tune finds words that are frequent in labelled misses and rare in rightly
// dropped messages, and tries each on the home's history. It changes nothing.
func (d *Desk) Tune(ctx context.Context, most int) (*Tuning, error) {
	if most < 1 {
		return nil, sysexit.With(sysexit.Usage, errors.New("tune: propose at least 1 phrase"))
	}
	labels, err := ReadLabels(d.Home)
	if err != nil {
		return nil, err
	}
	in, err := History(d.Home, nil, d.Say)
	if err != nil {
		return nil, err
	}
	t := tuner{desk: d, in: in, labels: labels.truths(), text: map[string]string{}}
	if len(t.labels) == 0 {
		err := sysexit.With(sysexit.NoInput, errors.New("tune: no labels"))
		return nil, sysexit.Hint(err, "tri-report audit makes them")
	}
	return t.run(ctx, most)
}

// truths is whether each labelled message was a miss. What a message wanted does
// not depend on the filter's version; the last word holds.
func (ls *Labels) truths() map[string]bool {
	latest := map[string]Label{}
	for _, l := range ls.all {
		k := l.Platform + "\x00" + l.ChatID + "\x00" + l.MessageID
		if l.Label != Skip && l.At >= latest[k].At {
			latest[k] = l
		}
	}
	out := map[string]bool{}
	for k, l := range latest {
		out[k] = l.Label == Miss
	}
	return out
}

type tuner struct {
	desk   *Desk
	in     stream.Input
	labels map[string]bool   // miss
	text   map[string]string // of the labelled messages
	seen   map[string]bool   // actionable as the rules are, of the labelled
	base   int               // actionable as the rules are
}

func (t *tuner) run(ctx context.Context, most int) (*Tuning, error) {
	out := &Tuning{keywords: t.desk.Config.Classifier.QuestionKeywords, Proposals: []Proposal{}}
	base, err := t.try(ctx, nil)
	if err != nil {
		return nil, err
	}
	t.in.Say = nil // what is refused has been said
	t.seen, t.base, out.Messages = base.seen, base.actionable, base.messages
	var misses, rights []string
	for k, miss := range t.labels {
		switch _, known := t.text[k]; {
		case !known:
		case !miss:
			rights = append(rights, t.text[k])
		default:
			out.Misses++
			if !t.seen[k] {
				misses = append(misses, t.text[k])
			}
		}
	}
	out.Rights, out.Still = len(rights), len(misses)
	covered := map[string]bool{}
	for i, c := range candidates(misses, rights) {
		if i == trials*most || len(out.Proposals) == most {
			break
		}
		p, err := t.effect(ctx, []string{c.Phrase}, out.Messages)
		if err != nil {
			return nil, err
		}
		p.Phrase, p.Score = c.Phrase, c.Score
		if p.Catches > precise*p.Wrong && p.adds(covered) {
			out.Proposals = append(out.Proposals, p)
		}
	}
	if len(out.Proposals) > 0 {
		out.Together, err = t.effect(ctx, out.phrases(), out.Messages)
	}
	return out, err
}

// adds reports whether p catches what no proposal before it does.
func (p *Proposal) adds(covered map[string]bool) (adds bool) {
	for k := range p.caught {
		adds = adds || !covered[k]
		covered[k] = true
	}
	return adds
}

func (t *Tuning) phrases() (out []string) {
	for _, p := range t.Proposals {
		out = append(out, p.Phrase)
	}
	return out
}

// outcome is what a rule set makes of the history.
type outcome struct {
	messages, actionable int
	seen                 map[string]bool // of the labelled messages: actionable
}

// try runs the rules with more keywords over the history.
func (t *tuner) try(ctx context.Context, more []string) (outcome, error) {
	cfg := new(config.Config)
	*cfg = *t.desk.Config
	cfg.Classifier.QuestionKeywords = slices.Concat(cfg.Classifier.QuestionKeywords, more)
	rules, err := t.desk.Compile(cfg)
	if err != nil {
		return outcome{}, err
	}
	out := outcome{seen: map[string]bool{}}
	err = each(ctx, rules, t.in, func(line []byte) error {
		v := gjson.GetManyBytes(line, "platform", "chat_id", "message_id", "content", "classification")
		out.messages++
		actionable := v[4].String() == "actionable"
		if actionable {
			out.actionable++
		}
		k := v[0].String() + "\x00" + v[1].String() + "\x00" + v[2].String()
		if _, labelled := t.labels[k]; labelled {
			t.text[k], out.seen[k] = v[3].String(), out.seen[k] || actionable
		}
		return nil
	})
	return out, err
}

// effect compares the rules with more keywords to those without.
func (t *tuner) effect(ctx context.Context, more []string, messages int) (Proposal, error) {
	o, err := t.try(ctx, more)
	if err != nil {
		return Proposal{}, err
	}
	p := Proposal{More: o.actionable - t.base, caught: map[string]bool{}}
	if messages > 0 {
		p.Per100 = 100 * float64(p.More) / float64(messages)
	}
	for k, seen := range o.seen {
		switch {
		case !seen || t.seen[k]:
		case t.labels[k]:
			p.Catches++
			p.caught[k] = true
		default:
			p.Wrong++
		}
	}
	return p, nil
}

// Print says what would change, and ends with what to paste.
func (t *Tuning) Print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%d misses and %d rightly dropped messages are labelled; the rules as they are still miss %d\n", t.Misses, t.Rights, t.Still)
	if t.Still < enough {
		fmt.Fprintf(&b, "with fewer than %d misses, words that they share may be chance: label more before you trust them\n", enough)
	}
	if len(t.Proposals) == 0 {
		b.WriteString("no phrase is in two misses and tells them from what was rightly dropped\n")
	}
	for _, p := range t.Proposals {
		fmt.Fprintf(&b, "%-30q catches %d, wrongly %d; %+d in all, %+.2f per 100 messages\n", p.Phrase, p.Catches, p.Wrong, p.More, p.Per100)
	}
	if p := t.Together; len(t.Proposals) > 0 {
		fmt.Fprintf(&b, "together: %d of %d misses, wrongly %d of %d; %+.2f per 100 messages\n\nNothing has been changed. In config.yaml it would be:\n\nclassifier:\n  question_keywords:\n", p.Catches, t.Still, p.Wrong, t.Rights, p.Per100)
		for _, k := range slices.Concat(t.keywords, t.phrases()) {
			quoted, err := json.Marshal(k) // a JSON string is one of YAML
			if err != nil {
				return fmt.Errorf("write phrase: %w", err)
			}
			fmt.Fprintf(&b, "    - %s\n", quoted)
		}
	}
	_, err := io.WriteString(w, b.String())
	return written(err)
}

// WriteJSON writes it as one record.
func (t *Tuning) WriteJSON(w io.Writer) error { return written(json.NewEncoder(w).Encode(t)) }

// byScore sorts the best first; of equals the longer says more.
func byScore(a, b Proposal) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(len(b.Phrase), len(a.Phrase)), cmp.Compare(a.Phrase, b.Phrase))
}

// Package voice words a draft as the team speaks and cuts it into messages, before it is validated. A
// model may only rephrase: code compares its text with the draft, and keeps the draft's bytes if anything
// that is said would change.
package voice

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tri/lib/agent"
	"tri/lib/base/config"
	"tri/lib/base/prompt"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/judge/safety"
	voices "tri/lib/judge/voice"
	"tri/lib/record/draft"
)

// Voice changes drafts. It is safe for concurrent use.
type Voice struct {
	Agent   agent.Agent   // rephrases; nil: none
	Prompts *prompt.Set   // needed with an agent
	Style   string        // how the team speaks, for the agent
	After   time.Duration // since the question, after which the answer names it; 0: never
	Cap     time.Duration // of one run of the agent
	Drift   float64       // MaxDrift of the configuration
	Log     *Log          // of what the agent did; nil: none
	Now     func() time.Time
}

// Of returns the voice of a configuration that enables it, nil otherwise.
func Of(cfg *config.Config, model agent.Agent, prompts *prompt.Set, log *Log) (*Voice, error) {
	if !cfg.Voice.Enabled {
		return nil, nil
	}
	v, err := New(cfg, "")
	if err == nil {
		v.Agent, v.Prompts, v.Log = model, prompts, log
	}
	return v, err
}

// New returns a voice without an agent, log or prompts. style replaces the configuration's file.
func New(cfg *config.Config, style string) (*Voice, error) {
	v := &Voice{
		After: time.Duration(*cfg.Voice.ReintroduceMin * float64(time.Minute)), Drift: *cfg.Voice.MaxDrift,
		Cap: time.Duration(cfg.Voice.Model.HardCapRuntimeMin * float64(time.Minute)), Now: time.Now,
	}
	if style = cmp.Or(style, cfg.Voice.Style); style == "" {
		return v, nil
	}
	b, err := os.ReadFile(style)
	if err != nil {
		return nil, sysexit.With(sysexit.NoInput, fmt.Errorf("read style: %w", err))
	}
	v.Style = string(b)
	return v, nil
}

// Run is where one run of the agent keeps its output.
type Run struct {
	Dir       string // made if needed
	SessionID string
	Hold      *os.File // may be nil
}

// Apply words and cuts the draft of ret. An earlier approved answer, and a return without a draft, stay
// as they are, and so does everything without a voice. The error is ctx's, or of the disk: what the
// agent does wrong is recorded in ret.Voice.
func (v *Voice) Apply(ctx context.Context, ret *draft.Return, r Run) error {
	if v == nil || ret.Before != nil || strings.TrimSpace(ret.DraftReply) == "" {
		return nil
	}
	was := ret.DraftReply
	did := &draft.Voice{}
	ret.Voice, ret.Cuts = did, nil
	if moved := voices.PointLast(was, ret.SummaryForOrchestrator); moved != was {
		ret.DraftReply, did.Moved = moved, true
	}
	if plain := voices.Plain(ret.DraftReply); plain != ret.DraftReply {
		ret.DraftReply, did.Plain = plain, true
	}
	if v.Agent != nil {
		said, err := v.rephrase(ctx, ret, r)
		if err != nil {
			return err
		}
		if did.Rephrased = did.Why == ""; did.Rephrased {
			ret.DraftReply = said
		}
	}
	if named := v.named(ret); named != "" {
		ret.DraftReply, did.Named = named, true
	}
	if ret.DraftReply != was {
		did.Original = was
	}
	ret.Cuts = voices.Cuts(ret.DraftReply)
	return nil
}

// named returns the draft behind a sentence that names its question, "" if that is not needed or not
// possible.
func (v *Voice) named(ret *draft.Return) string {
	at, err := time.Parse(time.RFC3339, ret.AskedAt)
	if v.After <= 0 || err != nil || v.Now().Sub(at) < v.After {
		return ""
	}
	question := strings.Join(strings.Fields(ret.Question), " ")
	question = strings.NewReplacer("“", "'", "”", "'", "`", "'").Replace(text.Cut(question, maxNamed))
	before := fmt.Sprintf(about(ret.DraftLanguage), question)
	draftToo := before + "\n\n" + ret.DraftReply
	if question == "" || text.Words(draftToo) > draft.MaxDraftWords {
		return ""
	}
	for _, p := range safety.Check(before, safety.Sources{Texts: []string{ret.Question}}) {
		if p.Fatal {
			return "" // a question that calls people is not repeated
		}
	}
	return draftToo
}

// maxNamed is how many characters of the question are repeated.
const maxNamed = 120

func about(lang string) string {
	lang, _, _ = strings.Cut(lang, "-")
	if form, ok := abouts[lang]; ok {
		return form
	}
	return abouts[voices.Language]
}

// abouts are in the languages of the packs of lib/judge/classify that the operator's programs speak.
var abouts = map[string]string{
	"en": "You asked: “%s”", "de": "Du hattest gefragt: “%s”", "es": "Preguntaste: “%s”",
	"fr": "Tu avais demandé : “%s”",
	"id": "Tadi ditanyakan: “%s”", "ja": "ご質問: “%s”", "pt": "Você perguntou: “%s”", "zh": "你问过: “%s”",
}

// rephrase returns the agent's text. If it must not be used, ret.Voice.Why says why.
func (v *Voice) rephrase(ctx context.Context, ret *draft.Return, r Run) (said string, err error) {
	did := ret.Voice
	if ret.DraftLanguage != voices.Language {
		did.Why = fmt.Sprintf("there are no word lists for %q", ret.DraftLanguage)
		return "", nil
	}
	if did.Why, err = v.Log.off(v.Drift); did.Why != "" || err != nil {
		return "", err
	}
	said, usage, model, err := v.ask(ctx, ret.DraftReply, r)
	if errors.Is(ctx.Err(), context.Canceled) {
		return "", ctx.Err()
	}
	if ret.Usage != nil {
		ret.Usage = add(ret.Usage, usage)
	}
	did.By = model
	if err != nil {
		did.Why = text.Visible(prompt.Cut(err.Error(), 300))
	} else {
		did.Why = v.refused(ret, said)
	}
	return said, v.Log.append(Line{At: text.Timestamp(v.Now()), Kind: Draft, Kept: did.Why == "",
		Why: did.Why, By: model})
}

// refused says why a rephrased text must not replace the draft of ret.
func (v *Voice) refused(ret *draft.Return, said string) string {
	known := []string{ret.DraftReply}
	for _, ref := range ret.EvidenceRefs {
		known = append(known, ref.Quote)
	}
	if why := voices.Same(ret.DraftReply, said, known...); why != "" {
		return why
	}
	if text.Words(said) > draft.MaxDraftWords {
		return "it is too long"
	}
	if hidden := text.Hidden(said); len(hidden) > len(text.Hidden(ret.DraftReply)) {
		return "it has invisible characters"
	}
	return ""
}

// ask has the agent rephrase a text.
func (v *Voice) ask(ctx context.Context, original string,
	r Run) (said string, usage draft.Usage, model string, err error) {
	model = "agent"
	if v.Cap > 0 {
		var cancel context.CancelFunc
		ctx, cancel = agent.WithLimit(ctx, v.Cap)
		defer cancel()
	}
	empty := filepath.Join(r.Dir, "empty") // it has nothing to read
	if err := os.MkdirAll(empty, 0o700); err != nil {
		return "", usage, model, err
	}
	asked, err := v.Prompts.Render("voice.md", map[string]any{
		"Draft": prompt.Quote("draft", original), "Style": prompt.Quote("style", v.Style),
	})
	if err != nil {
		return "", usage, model, err
	}
	res, err := v.Agent.Run(ctx, agent.Task{
		Prompt: asked, Question: original, Codebase: empty, Dir: r.Dir, SessionID: r.SessionID, Hold: r.Hold,
	})
	if res.Model != "" {
		model = res.Model
	}
	if err == nil && strings.TrimSpace(res.Text) == "" {
		err = errors.New("it gave back nothing")
	}
	return voices.Plain(strings.TrimSpace(res.Text)), res.Usage, model, err
}

// add returns the sum of two runs' usage.
func add(a *draft.Usage, b draft.Usage) *draft.Usage {
	sum := *a
	sum.InputTokens += b.InputTokens
	sum.OutputTokens += b.OutputTokens
	sum.DurationMS += b.DurationMS
	sum.Turns += b.Turns
	sum.TokensUnknown = sum.TokensUnknown || b.TokensUnknown
	switch {
	case a.CostUSD != nil && b.CostUSD != nil:
		sum.CostUSD = new(*a.CostUSD + *b.CostUSD)
	case a.CostUSD != nil:
		sum.CostAtLeast = true
	}
	return &sum
}

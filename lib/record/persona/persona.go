// Package persona is a point of view on drafts, patches and issues, as data: who looks, what is asked, and
// which model answers. A persona judges; it never speaks in a chat.
package persona

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tri/lib/base/lazyregexp"
	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
)

// Persona is personas/<id>.json of a home.
type Persona struct {
	ID        string   `json:"id"` // a UUID; the name may change
	Name      string   `json:"name"`
	Role      string   `json:"role"`
	AvatarURL *string  `json:"avatar_url"` // kept, never fetched or shown
	Active    bool     `json:"is_active"`  // an inactive persona is never asked
	Keywords  []string `json:"keywords"`   // of the role, for Find
	Soul      Soul     `json:"soul"`
	Style     Style    `json:"style"`
	Skill     Skill    `json:"skill"`
	Lenses    []Lens   `json:"lenses"`
	Model     *Model   `json:"model_config"` // nil: the validator's
	// Override replaces the compiled prompt, not its rules.
	Override *string `json:"system_prompt_override"`
	// Unused are fields of another program by their path, such as cascade. Import keeps them; nothing reads
	// them.
	Unused    map[string]json.RawMessage `json:"unused,omitempty"`
	CreatedAt string                     `json:"created_at"` // RFC 3339, as the next
	UpdatedAt string                     `json:"updated_at"`
}

// Soul says who the persona is.
type Soul struct {
	WhoIAm     string              `json:"whoIAm"`
	Worldview  []string            `json:"worldview"`
	Opinions   map[string][]string `json:"opinions"` // by domain
	Expertise  []string            `json:"expertise"`
	Interests  []string            `json:"interests"`
	Tensions   []string            `json:"tensions"`
	Boundaries []string            `json:"boundaries"`
	PetPeeves  []string            `json:"petPeeves"`
}

// Style says how the persona writes. Only the one voice uses it; a judge is asked without it.
type Style struct {
	VoicePrinciples   string            `json:"voicePrinciples"`
	SentenceStructure string            `json:"sentenceStructure"`
	Tone              string            `json:"tone"`
	WordsUsed         []string          `json:"wordsUsed"`
	WordsAvoided      []string          `json:"wordsAvoided"`
	EmojiUsage        EmojiUsage        `json:"emojiUsage"`
	QuickReactions    map[string]string `json:"quickReactions"`
	RhetoricalMoves   []string          `json:"rhetoricalMoves"`
	AntiPatterns      []Example         `json:"antiPatterns"`
	GoodExamples      []string          `json:"goodExamples"`
	BadExamples       []Example         `json:"badExamples"`
}

// EmojiUsage is data for people; nothing is sent by it.
type EmojiUsage struct {
	Frequency    string   `json:"frequency"`
	Favorites    []string `json:"favorites"`
	ContextRules string   `json:"contextRules"`
}

// Example is a text with the reason why it is shown.
type Example struct {
	Example     string `json:"example"`
	Explanation string `json:"explanation"`
}

// UnmarshalJSON also reads a plain string, an example without an explanation.
func (e *Example) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &e.Example)
	}
	type plain Example
	return json.Unmarshal(b, (*plain)(e))
}

// Skill says what the persona does, by the kind of work.
type Skill struct {
	Modes        map[string]string `json:"modes"` // pr_review, incident, proactive, validate, …
	Interpolate  string            `json:"interpolationRules"`
	Instructions []string          `json:"additionalInstructions"`
}

// Lens is one narrow question about a draft.
type Lens struct {
	Name   string   `json:"name"` // unique among all personas
	Ask    string   `json:"ask"`
	Faults []string `json:"faults"` // kinds of tri-drill that it is meant for
}

// Model replaces the validator's model for one persona.
type Model struct {
	Agent   string            `json:"agent,omitempty"` // as in config.yaml; default api
	API     string            `json:"api,omitempty"`   // anthropic or openai; provider, in imports
	Model   string            `json:"model,omitempty"`
	BaseURL string            `json:"base_url,omitempty"`
	Env     map[string]string `json:"env,omitempty"` // each value is ***: it lies in secrets/<id>.<variable>
}

// Kept is what a record holds in place of a secret's value.
const Kept = "***"

// SecretName returns the name under which a variable of a persona is kept.
func (p *Persona) SecretName(variable string) string { return p.ID + "." + variable }

// Limits on a persona.
const (
	MaxFile   = 256 << 10 // bytes
	maxLenses = 8
	maxAsk    = 600 // characters
)

//go:embed default/*.json
var builtin embed.FS

// Defaults returns the personas that come with the program, all inactive, sorted by name.
func Defaults() []Persona {
	names, err := fs.Glob(builtin, "default/*.json")
	var all []Persona
	for _, name := range names {
		var b []byte
		if b, err = builtin.ReadFile(name); err == nil {
			var p *Persona
			if p, err = Parse(b); err == nil {
				all = append(all, *p)
			}
		}
		if err != nil {
			break
		}
	}
	if err != nil {
		panic(fmt.Sprintf("built-in personas: %v", err)) // a test reads them
	}
	sortByName(all)
	return all
}

func sortByName(all []Persona) {
	slices.SortFunc(all, func(a, b Persona) int { return strings.Compare(a.Name+a.ID, b.Name+b.ID) })
}

// Parse reads a persona strictly: an unknown key is an error with its place.
func Parse(b []byte) (*Persona, error) {
	p := new(Persona)
	if err := strict(b, p); err != nil {
		return nil, sysexit.With(sysexit.Data, fmt.Errorf("persona: %w", err))
	}
	if err := p.check(); err != nil {
		return nil, sysexit.With(sysexit.Data, fmt.Errorf("persona %q: %w", text.Line(p.Name, 40), err))
	}
	return p, nil
}

func strict(b []byte, v any) error {
	if len(b) > MaxFile {
		return fmt.Errorf("over %d bytes", MaxFile)
	}
	line := new(bytes.Buffer)
	if err := json.Compact(line, b); err != nil {
		return err
	}
	if err := ndjson.Check(line.Bytes()); err != nil {
		return err
	}
	var all any
	if err := json.Unmarshal(b, &all); err != nil {
		return err
	}
	var faults []error
	unknown(all, reflect.TypeOf(v), "", func(_ map[string]any, _, path, near string) {
		err := fmt.Errorf("%s: unknown key", text.Line(path, 200))
		if near != "" {
			err = fmt.Errorf("%w; did you mean %q?", err, near)
		}
		faults = append(faults, err)
	})
	if err := errors.Join(faults...); err != nil {
		return err
	}
	return json.Unmarshal(b, v)
}

// unknown calls do for each key of an object that its type does not have, with its path and the name of the
// type that is close to it.
func unknown(v any, t reflect.Type, at string, do func(in map[string]any, key, path, near string)) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			if t.Kind() == reflect.Slice {
				unknown(item, t.Elem(), fmt.Sprintf("%s[%d]", at, i), do)
			}
		}
	case map[string]any:
		if t.Kind() != reflect.Struct {
			return
		}
		fields := map[string]reflect.Type{}
		for f := range t.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			fields[name] = f.Type
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			path := strings.TrimPrefix(at+"."+key, ".")
			if fields[key] == nil {
				do(v, key, path, sysexit.Nearest(key, slices.Collect(maps.Keys(fields))))
				continue
			}
			unknown(v[key], fields[key], path, do)
		}
	}
}

var (
	isID       = lazyregexp.New(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	isLens     = lazyregexp.New(`^[a-z][a-z0-9-]{0,30}$`)
	isVariable = lazyregexp.New(`^[A-Z][A-Z0-9_]{0,60}$`)
)

// check reports every fault of a persona.
func (p *Persona) check() error {
	var faults []error
	add := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	add(!isID.MatchString(p.ID), "id: is %q, want a UUID in lower case", text.Line(p.ID, 60))
	add(!plain(p.Name, 60), "name: want one line of at most 60 characters")
	add(!plain(p.Role, 100), "role: want one line of at most 100 characters")
	for i, word := range p.Keywords {
		add(!plain(word, 60), "keywords[%d]: want one line of at most 60 characters", i)
	}
	add(len(p.Lenses) > maxLenses, "lenses: has %d, at most %d", len(p.Lenses), maxLenses)
	for i, l := range p.Lenses {
		add(!isLens.MatchString(l.Name), "lenses[%d].name: is %q, want small letters, digits and dashes", i,
			text.Line(l.Name, 40))
		add(strings.TrimSpace(l.Ask) == "" || utf8.RuneCountInString(l.Ask) > maxAsk,
			"lenses[%d].ask: want 1 to %d characters", i, maxAsk)
	}
	for at, v := range map[string]string{"created_at": p.CreatedAt, "updated_at": p.UpdatedAt} {
		_, err := time.Parse(time.RFC3339, v)
		add(err != nil, "%s: is %q, want a time as in RFC 3339", at, text.Line(v, 40))
	}
	if p.Model != nil {
		for name := range p.Model.Env {
			add(!isVariable.MatchString(name), "model_config.env: %q is no name of a variable",
				text.Line(name, 40))
		}
	}
	slices.SortFunc(faults, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(faults...)
}

// plain reports whether s is one visible line of at most n characters.
func plain(s string, n int) bool {
	return strings.TrimSpace(s) != "" && utf8.RuneCountInString(s) <= n && text.Visible(s) == s &&
		!strings.ContainsAny(s, "\r\n\t")
}

// Clear returns the secrets that the record still holds in the clear, by variable, and puts Kept in their
// place.
func (p *Persona) Clear() map[string]string {
	found := map[string]string{}
	if p.Model == nil {
		return found
	}
	for name, value := range p.Model.Env {
		if value != Kept {
			found[name], p.Model.Env[name] = value, Kept
		}
	}
	return found
}

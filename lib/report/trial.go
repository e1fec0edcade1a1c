package report

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"tri/lib/base/durable"
	"tri/lib/base/lazyregexp"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/thread"
)

// Trial is what a home of tri-dispatch --shadow contains: each question beside its draft and what
// people answered then.
type Trial struct {
	At    string  `json:"at"`
	Asked []Asked `json:"asked"`

	Drafted  int `json:"drafted"`  // questions with a draft
	Answered int `json:"answered"` // questions with another person's message in the same conversation
	// Empty is how many questions the investigator found nothing for.
	Empty int `json:"empty"`
	// Named is how many drafts cite a place that a person named later; Compared how many drafts
	// can be compared: a person answered and named code.
	Named    int `json:"named"`
	Compared int `json:"compared"`
	// Style and Policy are of the HTML page.
	Style  template.CSS `json:"-"`
	Policy string       `json:"-"`
}

// Asked is one question of a trial.
type Asked struct {
	Key        string   `json:"key"`
	Chat       string   `json:"chat"`
	Who        string   `json:"who"`
	At         string   `json:"at"`
	Question   string   `json:"question"`
	People     []Said   `json:"people,omitempty"` // what others said in the conversation
	Badge      string   `json:"badge"`
	Confidence string   `json:"confidence,omitempty"`
	Reasons    []string `json:"reasons,omitempty"` // of the validator
	Draft      string   `json:"draft,omitempty"`
	Refs       []string `json:"refs,omitempty"`
	Why        string   `json:"why,omitempty"`   // there is no draft
	Named      []string `json:"named,omitempty"` // cited, and named by a person
	NamesCode  bool     `json:"names_code"`      // a person named code
}

// ReadTrial reads the threads of a home, open and closed, in the order in which they were asked.
func ReadTrial(h *durable.Home, now time.Time) (*Trial, error) {
	t := &Trial{At: stampJSON(now)}
	for file, err := range thread.Files(h) {
		if err != nil {
			return nil, err
		}
		th, err := thread.LoadFile(h, file)
		if err != nil {
			return nil, err
		}
		if th != nil && len(th.Messages) > 0 {
			t.add(th)
		}
	}
	if len(t.Asked) == 0 {
		return nil, sysexit.Hint(sysexit.With(sysexit.No, fmt.Errorf("%s holds no questions", h.Dir())),
			"tri try EXPORT --codebase DIR makes a trial")
	}
	slices.SortStableFunc(t.Asked, func(a, b Asked) int { return text.CompareTimes(a.At, b.At) })
	return t, nil
}

func (t *Trial) add(th *thread.Thread) {
	a := Asked{
		Key: th.Key, Chat: cmp.Or(th.ChatName, th.ChatID),
		Who: cmp.Or(th.OriginalSenderName, th.OriginalSenderID),
		At:  th.Messages[0].At, Question: th.Text(), Badge: th.Badge,
		Why:    th.InvestigatorError,
		People: repliesIn(th),
	}
	if strings.HasSuffix(a.Why, ": nothing found") { // by which agent, and where, is the same for all
		a.Why = "nothing found"
	}
	a.draft(th)
	a.compare()
	if len(a.People) > 0 {
		t.Answered++
	}
	if a.Draft == "" && a.Why == "nothing found" {
		t.Empty++
	}
	if a.Draft != "" {
		t.Drafted++
		if a.NamesCode {
			t.Compared++
		}
		if len(a.Named) > 0 {
			t.Named++
		}
	}
	t.Asked = append(t.Asked, a)
}

func (a *Asked) draft(th *thread.Thread) {
	if th.DraftPending == nil || th.InvestigatorReturn == nil {
		if v := th.ValidatorReturn; v != nil && a.Why == "" {
			a.Why = strings.Join(v.Reasons, "; ")
		}
		return
	}
	a.Draft, a.Confidence = *th.DraftPending, th.InvestigatorReturn.Confidence
	if th.ValidatorReturn != nil {
		a.Reasons = th.ValidatorReturn.Reasons
	}
	for _, r := range th.InvestigatorReturn.EvidenceRefs {
		a.Refs = append(a.Refs, r.Ref)
	}
}

// repliesIn returns what others than the asker said after the question.
func repliesIn(th *thread.Thread) []Said {
	var said []Said
	seen := map[string]bool{}
	for _, m := range slices.Concat(th.HumanReplies, th.Context) {
		if seen[m.MessageID] || m.SenderID == th.OriginalSenderID ||
			text.ParseTime(m.At).Before(text.ParseTime(th.Messages[0].At)) {
			continue
		}
		seen[m.MessageID] = true
		said = append(said, Said{MessageID: m.MessageID, At: m.At, Who: cmp.Or(m.SenderName, m.SenderID),
			What: "said", Content: m.Content})
	}
	slices.SortStableFunc(said, func(a, b Said) int { return text.CompareTimes(a.At, b.At) })
	return said
}

var (
	// fileName matches names of files with an extension, with or without folders.
	fileName = lazyregexp.New(`[\w./-]*\w\.[a-zA-Z]{1,5}\b`)
	// codeName matches identifiers that no sentence has: in back quotes, with an inner capital or
	// an underscore, or called.
	codeName = lazyregexp.New("`[^`\n]{3,60}`|\\b[a-z]+[A-Z]\\w*|\\b[A-Z][a-z0-9]+[A-Z]\\w*|\\b\\w+_\\w+|\\b\\w{3,}\\(\\)")
)

// compare finds what people named of the code, and what of it the draft cites: the file, or an
// identifier in the lines that the draft quotes. What the question names already does not count.
func (a *Asked) compare() {
	question := strings.ToLower(a.Question)
	for _, s := range a.People {
		for _, name := range slices.Concat(fileName.FindAllString(s.Content, -1),
			codeName.FindAllString(s.Content, -1)) {
			name = strings.TrimSuffix(strings.Trim(name, "`./"), "()")
			if len(name) < 3 || strings.Contains(question, strings.ToLower(name)) {
				continue
			}
			a.NamesCode = true
			if a.cites(name) && !slices.Contains(a.Named, name) {
				a.Named = append(a.Named, name)
			}
		}
	}
}

func (a *Asked) cites(name string) bool {
	for _, ref := range a.Refs {
		file, _, _ := strings.Cut(ref, ":")
		if file == name || path.Base(file) == name || strings.HasSuffix(file, "/"+name) {
			return true
		}
	}
	return a.Draft != "" && !fileName.MatchString(name) && strings.Contains(a.Draft, name)
}

// Sums returns the figures of the trial in sentences.
func (t *Trial) Sums() []string {
	n := len(t.Asked)
	drafts := fmt.Sprintf("%s: %d got a draft, for %d nothing was found", text.Count(n, "question"), t.Drafted,
		t.Empty)
	if other := n - t.Drafted - t.Empty; other > 0 {
		drafts += fmt.Sprintf(", %d failed or did not pass the checks", other)
	}
	sums := []string{drafts + ".",
		fmt.Sprintf("The conversation of %d has messages of other people. An answer elsewhere is not shown.",
			t.Answered)}
	if t.Compared > 0 {
		sums = append(sums, fmt.Sprintf("In %d with a draft, people named a file or a name of the code; %d of "+
			"the drafts cite it.", t.Compared, t.Named))
	}
	return sums
}

// Print writes it as text.
func (t *Trial) Print(w io.Writer) error {
	s := newSheet(w)
	for _, line := range t.Sums() {
		s.wrap("", line)
	}
	for i := range t.Asked {
		a := &t.Asked[i]
		s.printf("\n%d. %s, %s in %s\n", i+1, clock(a.At), fit(a.Who, 20), fit(a.Chat, 30))
		s.WriteString(indent(a.Question, "   "))
		for _, p := range a.People {
			s.wrap("   people: "+fit(p.Who, 20)+": ", p.Content)
		}
		if a.Draft == "" {
			s.wrap("   draft:  none: ", cmp.Or(a.Why, a.Badge))
			continue
		}
		s.wrap("   draft:  ", a.Badge+a.confidence())
		s.WriteString(indent(a.Draft, "   | "))
		if len(a.Named) > 0 {
			s.wrap("   a person named: ", strings.Join(a.Named, ", "))
		}
	}
	return s.send(w)
}

func (a *Asked) confidence() string {
	if a.Confidence == "" {
		return ""
	}
	return ", confidence " + text.Line(a.Confidence, 10)
}

//go:embed trial.html
var trialText string

var trialTemplate = template.Must(template.New("trial").Funcs(template.FuncMap{
	"flat": func(s string) string {
		return text.Line(s, 0)
	}, "clock": clock, "show": text.Visible, "inc": func(i int) int { return i + 1 }, "parts": parts,
}).Parse(trialText))

// part is a piece of a draft: prose, or the inside of a fence, which a chat shows as code.
type part struct {
	Code bool
	Text string
}

// parts splits a draft at its fences, lines that begin with three back quotes or more and have no others;
// as many close one. A fence that is never closed runs to the end.
func parts(draft string) []part {
	var all []part
	var piece strings.Builder
	ticks := 0 // of the open fence
	end := func() {
		if strings.TrimSpace(piece.String()) != "" {
			all = append(all, part{ticks > 0, strings.Trim(piece.String(), "\n")})
		}
		piece.Reset()
	}
	for line := range strings.Lines(draft) {
		rest := strings.TrimLeft(line, "`")
		switch n := len(line) - len(rest); {
		case ticks == 0 && n >= 3 && !strings.Contains(rest, "`"):
			end()
			ticks = n
		case ticks > 0 && n >= ticks && strings.TrimSpace(rest) == "":
			end()
			ticks = 0
		default:
			piece.WriteString(line)
		}
	}
	end()
	return all
}

// Page returns the trial as an HTML page: no scripts, no external resources.
func (t *Trial) Page() Printer {
	t.Style, t.Policy = pageStyle, pagePolicy()
	return trialPage{t}
}

type trialPage struct{ *Trial }

// Print writes the page.
func (p trialPage) Print(w io.Writer) error {
	return printPage(w, trialTemplate, p.Trial)
}

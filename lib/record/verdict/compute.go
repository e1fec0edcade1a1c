package verdict

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tri/lib/base/text"
	"tri/lib/record/draft"
)

// Values of the fields of a verdict.
const (
	OK          = "ok"
	Fail        = "fail"
	Match       = "match"
	Mismatch    = "mismatch"
	None        = "none"
	Minor       = "minor"
	Major       = "major"
	Consistent  = "consistent"
	NoOverlap   = "no_overlap"
	contradicts = Contradicting
	Passes      = "passes"
	NeedsHigh   = "needs_high_confidence"
	Fails       = "fails"
	Matches     = "matches"
	Off         = "off"
	AISmell     = "ai_smell"
)

// Contradicting, followed by the key of another thread, is the value of
// cross_investigation_consistency if that thread reached another conclusion.
const Contradicting = "contradicts_"

// Facts are what code found out about a return; Compute judges them.
type Facts struct {
	Schema     string // fault in the return's shape or limits; "" if none
	Confidence string
	Refs       []Ref           // every reference, in order
	Unsafe     []draft.Problem // in the draft, and in what is saved or shown with it
	Untraced   []string        // names in the draft that occur in no source
	Uncited    []string        // places that the draft names and no reference cites
	Traced     []Trace         // names in the draft, and where they occur
	Opposed    []string        // statements that their evidence contradicts
	Sentences  []Sentence      // of the draft
	Places     bool            // its references claim only that names occur
	Restated   bool            // a sentence and a claim share words, and the lines cover one of them
	Everyday   bool            // other places of the codebase have as much of it as the cited lines
	Unread     string          // file of the codebase that could not be read for that, and why
	Misjudged  []string        // wording that does not fit the confidence
	Risks      []string        // reasons why high confidence is needed
	Smells     []string        // phrases typical of machine-written text
	Drift      string          // None, Minor, Major
	DriftNote  string
	Other      string // Consistent, NoOverlap, or contradicts_ and a key
	OtherNote  string // the contradicting statement
	Empty      bool   // there is no draft, only a request to escalate
	Asks       string // the investigator's reason to escalate; "" if none
}

// Ref is the finding on one reference.
type Ref struct {
	Ref, Result, Note string
	Stands            bool
	Share             float64
	Decided           []string
	Lacks             []string // what the claim names and the lines do not have
}

// Trace is one name in a draft. To is where it occurs, "" if nowhere.
type Trace struct{ What, To string }

// ruling collects the findings against a return.
type ruling struct {
	v     *Verdict
	fixes []string
	open  [][2]string // what code cannot decide: reason and fix
}

// bounce adds a reason, and how the investigator can fix it.
func (r *ruling) bounce(reason, fix string) {
	r.v.Verdict = worse(verdicts, r.v.Verdict, Bounce)
	r.v.Reasons = append(r.v.Reasons, reason)
	r.fixes = append(r.fixes, strings.TrimRight(fix, ".")+".") // a note may end with a full stop of its own
}

// undecided adds a reason for which neither a pass nor a fault is proved.
func (r *ruling) undecided(reason, fix string) { r.open = append(r.open, [2]string{reason, fix}) }

// close adds what is undecided: to the feedback of a bounce; of a draft without a fault it is the verdict.
func (r *ruling) close() {
	for _, o := range r.open {
		switch {
		case r.v.Verdict == Bounce:
			r.bounce(o[0], o[1])
		case r.v.Verdict == Pass:
			r.v.Proved = Undecided
			fallthrough
		default:
			r.v.Verdict, r.v.Reasons = Escalate, append(r.v.Reasons, o[0])
		}
	}
}

func (r *ruling) escalate(reason string) {
	r.v.Verdict = Escalate
	r.v.Reasons = append(r.v.Reasons, reason)
}

func (r *ruling) check(name, result, note string) {
	r.v.Checks = append(r.v.Checks, Check{Name: name, Result: result, By: "code", Note: note})
}

// Compute judges facts by these rules:
//
//	the return's shape or a limit is violated                   bounce
//	a reference is fabricated or contradicts its claim          bounce
//	no claim is covered by the cited lines                      undecided, unless a sentence that repeats one is
//	sentences, and none is covered by the cited lines           undecided, unless one repeats a covered claim
//	no reference at all (which confidence low allows)           escalate: another round would find no more
//	a secret, mention, invisible character or unknown URL       bounce
//	the draft names lines that no reference cites               bounce
//	the draft or a claim has a name that occurs in no source    undecided
//	other files of the codebase have more of it than the lines  undecided
//	a file of the codebase cannot be read for that comparison   undecided
//	the evidence contradicts the draft or its summary           bounce
//	risky advice without confidence high                        risk gate fails, bounce
//	risky advice, and not every reference supports              needs_high_confidence, undecided
//	wording does not fit confidence                             undecided
//	AI smell                                                    bounce
//	nothing of what was asked is in it, or a sentence is on
//	another subject                                             scope_drift major, undecided
//	a sentence has a name, count or unit not in the lines      undecided
//	it contradicts another open thread                          escalate
//	no draft, only a request to escalate                        escalate
//
// Undecided is the verdict escalate, with Proved Undecided: a person has to read the lines. A fault outranks
// it, and escalate outranks bounce. The caller fills ValidatedAt.
func Compute(f Facts) Verdict {
	r := &ruling{v: &Verdict{
		Verdict: Pass, Reasons: []string{}, SchemaCheck: OK, ConfidenceLanguageMatch: Match, ScopeDrift: None,
		CrossInvestigationConsistency: NoOverlap, RiskGateCheck: Passes, ToneAssessment: Matches,
	}}
	r.schema(f)
	r.sentences(f, r.refs(f))
	r.text(f)
	r.risk(f)
	r.scope(f)
	if f.Empty {
		r.escalate("there is no draft, only a wish to escalate: " + f.Asks)
	}
	r.close()
	v := r.v
	v.ValidatorModel = ByCode
	v.prove(f.Places)
	if v.Verdict == Pass {
		v.Reasons = append(v.Reasons, v.summary())
	}
	if v.Verdict == Bounce {
		text := feedback(r.fixes)
		v.BounceFeedback = &text
	}
	return *v
}

func feedback(fixes []string) string {
	var b strings.Builder
	for i, fix := range fixes {
		fmt.Fprintf(&b, "%d. %s\n", i+1, fix)
	}
	return strings.TrimRight(b.String(), "\n")
}

func (r *ruling) schema(f Facts) {
	if f.Schema == "" {
		r.check("schema", OK, "")
		return
	}
	r.v.SchemaCheck = Fail
	r.check("schema", Fail, f.Schema)
	r.bounce("the return is malformed: "+f.Schema, "Correct the return itself: "+f.Schema+".")
}

// refs reports whether a reference covers its claim.
func (r *ruling) refs(f Facts) (supported bool) {
	v := r.v
	if len(f.Refs) == 0 {
		v.SpotCheckResult, v.SpotCheckNote = Uncheckable, "nothing is cited"
		r.check("references", Fail, "nothing is cited")
		r.escalate("nothing is cited, so nothing can be checked")
		return false
	}
	for i, ref := range f.Refs {
		v.Checks = append(v.Checks, Check{
			Name: refCheck + strconv.Itoa(i+1), Result: ref.Result, By: "code", Note: ref.Note,
			Stands: ref.Stands, Share: round(ref.Share), Decided: ref.Decided,
		})
		supported = supported || ref.Result == Supports
		if i == 0 || worse(results, v.SpotCheckResult, ref.Result) != v.SpotCheckResult {
			v.SpotCheckRef, v.SpotCheckResult, v.SpotCheckNote = ref.Ref, ref.Result, ref.Note
		}
		name := fmt.Sprintf("reference %d, %s", i+1, text.Visible(ref.Ref))
		switch ref.Result {
		case Fabricated:
			r.bounce(fmt.Sprintf("%s, is fabricated: %s", name, ref.Note),
				fmt.Sprintf("Drop %s, or cite what the lines really contain: %s. Quote the lines word for word.",
					name, ref.Note))
		case Uncheckable:
			if len(ref.Lacks) > 0 {
				r.undecided(fmt.Sprintf("%s, is not decided: %s", name, ref.Note),
					fmt.Sprintf("Read %s again: %s. Cite the lines that hold it, or take it out.", name, ref.Note))
			}
		case Contradicts:
			r.bounce(fmt.Sprintf("%s, does not say so: %s", name, ref.Note),
				fmt.Sprintf("Read %s again: %s. Cite lines that show the claim, or change the claim and the draft.", name, ref.Note))
		}
	}
	return supported
}

// sentences checks the sentences of the draft. A claim and a sentence must be covered. If only one of them
// is, but repeats the other, the draft is offered with what is not covered marked.
func (r *ruling) sentences(f Facts, supported bool) {
	r.v.Sentences = f.Sentences
	covered, all := count(f.Sentences)
	compared := 0
	none := ""
	for i := range f.Sentences {
		s := f.Sentences[i]
		if s.State != Unstated && s.State != Uncompared {
			compared++
		}
		if s.State == Unbacked {
			none += fmt.Sprintf("; %q", s.Text)
		}
	}
	if i := slices.IndexFunc(f.Sentences, func(s Sentence) bool {
		return slices.Contains(s.Undecided, Named)
	}); i >= 0 && len(f.Refs) > 0 {
		said := fmt.Sprintf("%q: %s", f.Sentences[i].Text, f.Sentences[i].Note)
		r.undecided("a sentence names what the cited lines do not hold: "+said,
			"Cite the lines that hold it, or take it out: "+said+".")
	}
	note := "no sentence states anything to check"
	if all > 0 {
		note = Coverage(f.Sentences)
	}
	if none != "" {
		note += "; not " + strings.TrimPrefix(none, "; ")
	}
	result := OK
	switch {
	case len(f.Refs) == 0:
		result = Fail // the fault is that nothing is cited
	case !supported && (covered == 0 || !f.Restated):
		result = Fail
		r.check("references", Fail, "none that code can check supports the draft")
		r.undecided("no reference covers what it is cited for",
			"Cite at least one file by path:line, quote the lines that carry the answer, and claim of them what they say, in their words.")
	case compared > 0 && covered == 0 && !f.Restated:
		result = Fail
		r.undecided("no sentence of the draft is covered by what is cited",
			"Say in the draft what the cited lines say, or cite the lines that say it: "+note+".")
	case f.Unread != "":
		result = Fail
		r.undecided("whether other places of the codebase have more of the draft is not decided: "+f.Unread,
			"Nothing can be done in the draft: "+f.Unread+".")
	case f.Everyday:
		result = Fail
		said := "what the cited lines have of the draft, other places of the codebase have too"
		r.undecided(said, "Cite the lines that are about it and no others: "+said+".")
	case covered < all:
		result = "note"
	}
	r.check("sentences", result, note)
}

// round rounds a share to two digits.
func round(share float64) float64 { return math.Round(share*100) / 100 }

func (r *ruling) text(f Facts) {
	for _, p := range f.Unsafe {
		if !p.Fatal {
			r.check(p.Name, "note", p.Note)
			continue
		}
		r.check(p.Name, Fail, p.Note)
		r.bounce("unsafe text: "+p.Note, "Take this out of the text: "+p.Note+".")
	}
	r.list("safety", len(f.Unsafe) == 0)
	for _, why := range f.Opposed {
		r.check("claims", Fail, why)
		r.bounce("it says what its evidence denies: "+why,
			"Read the lines again and say what they say: "+why+".")
	}
	r.list("claims", len(f.Opposed) == 0)
	for _, c := range []struct {
		found       []string
		result      string
		said        func(reason, fix string)
		reason, fix string
	}{
		{f.Uncited, Fail, r.bounce, "the draft names lines that no reference cites: ",
			"Cite these lines, or remove them from the draft: "},
		{f.Untraced, Uncheckable, r.undecided, "the draft names what is in no evidence: ",
			"Cite and quote lines that contain these, or remove them from the draft: "},
	} {
		if names := text.Few(c.found, 8); len(c.found) > 0 {
			r.check("traceable", c.result, names)
			c.said(c.reason+names, c.fix+names+".")
		}
	}
	r.list("traceable", len(f.Untraced)+len(f.Uncited) == 0)
	for _, t := range f.Traced[:min(len(f.Traced), maxTraces)] {
		if t.To == "" {
			r.check(Traced, Fail, text.Visible(t.What)+": is in nothing that was shown")
			continue
		}
		r.check(Traced, OK, text.Visible(t.What+": "+t.To))
	}
	if len(f.Misjudged) > 0 {
		r.v.ConfidenceLanguageMatch = Mismatch
		names := strings.Join(f.Misjudged, ", ")
		r.check("confidence", Uncheckable, names)
		r.undecided(fmt.Sprintf("the wording (%s) does not fit confidence %s", names,
			text.Visible(f.Confidence)),
			fmt.Sprintf("Say it as surely as it was found: %s does not fit confidence %s.", names,
				text.Visible(f.Confidence)))
	}
	r.list("confidence", len(f.Misjudged) == 0)
	if len(f.Smells) > 0 {
		r.v.ToneAssessment = AISmell
		names := strings.Join(f.Smells, ", ")
		r.check("tone", Fail, names)
		r.bounce("it reads as a machine wrote it: "+names, "Write as a colleague would, without: "+names+".")
	}
	r.list("tone", len(f.Smells) == 0)
}

// list records a check without findings.
func (r *ruling) list(name string, ok bool) {
	if ok {
		r.check(name, OK, "")
	}
}

func (r *ruling) risk(f Facts) {
	if len(f.Risks) == 0 {
		r.check("risk", OK, "")
		return
	}
	names := strings.Join(f.Risks, ", ")
	all := len(f.Refs) > 0 && !slices.ContainsFunc(f.Refs, func(ref Ref) bool {
		return ref.Result != Supports
	})
	switch {
	case f.Confidence != draft.High:
		r.v.RiskGateCheck = Fails
		r.bounce(fmt.Sprintf("it advises %s at confidence %s", names, text.Visible(f.Confidence)),
			"Take the advice out, or read the code until confidence is high: "+names+".")
	case !all:
		r.v.RiskGateCheck = NeedsHigh
		r.undecided(fmt.Sprintf("it advises %s, and not every reference holds: confidence is not high", names),
			"Advice of this kind needs every reference checked: cite files by path:line with quotes, or take it out: "+names+".")
	default:
		r.check("risk", "note", names)
		return
	}
	r.check("risk", Fail, names)
}

func (r *ruling) scope(f Facts) {
	switch f.Drift {
	case Major:
		r.v.ScopeDrift = Major
		r.check("scope", Fail, f.DriftNote)
		r.undecided("it does not answer what was asked: "+f.DriftNote,
			"Answer the question that was asked: "+f.DriftNote+".")
	case Minor:
		r.v.ScopeDrift = Minor
		r.check("scope", "note", f.DriftNote)
	default:
		r.check("scope", OK, "")
	}
	if f.Other != "" {
		r.v.CrossInvestigationConsistency = f.Other
	}
	if note, ok := strings.CutPrefix(f.Other, contradicts); ok {
		note = text.Visible(note)
		if f.OtherNote != "" {
			note += ": " + text.Visible(f.OtherNote)
		}
		r.check("consistency", Fail, note)
		r.escalate("it contradicts what another open thread concluded: " + note)
		return
	}
	r.check("consistency", OK, r.v.CrossInvestigationConsistency)
}

// Traced is the name of the check of one name in a draft.
const Traced = "trace"

// maxTraces bounds the names that a verdict lists one by one.
const maxTraces = 60

package thread

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tri/lib/record/decision"
	"tri/lib/record/draft"
	"tri/lib/record/event"
	"tri/lib/record/outbox"
	"tri/lib/record/run"
	"tri/lib/record/verdict"
)

const key = "local.dev.1"

// A story is a thread's inputs, a few words per step; see step.
func step(t Thread, n int, words string) Input {
	at := fmt.Sprintf("2026-11-21T10:00:%02dZ", n%60)
	in := Input{At: at, Key: key, Facts: &Facts{QuestionType: TechnicalQA, Tier: 1}}
	verb, rest, _ := strings.Cut(words, " ")
	if verb == "stale" { // of an earlier cycle, with runs and drafts that are not of this one
		i, v := "i-old", "v-old"
		return step(Thread{Key: t.Key, Cycle: t.Cycle - 1, InvestigatorTaskID: &i, ValidatorTaskID: &v,
			DraftSHA256: "old", Status: PendingUser, Badge: broke}, n, rest)
	}
	if verb == "now" { // as this version's journal has it
		in := step(t, n, rest)
		in.Stale, in.Shed, in.Told = t.Stales(in), t.Sheds(in), t.Tells(in)
		in.Resumes = in.Run != nil && in.Run.Status == run.Done
		if in.Run != nil {
			in.Run.SessionID = "s"
		}
		return in
	}
	ev := func(sender, class string) *event.Classified {
		id, root := fmt.Sprint(n+1), "1"
		return &event.Classified{Event: event.Event{
			Platform: "local", ChatID: "dev", MessageID: id, CreateTime: at, Content: rest,
			ThreadID: &root, Sender: event.Sender{ID: sender, Type: "user"},
		}, Classification: class, IsQuestion: class == event.Actionable, IsAckOrEmoji: class == event.Ack}
	}
	switch verb {
	case "asks":
		in.Event = ev("ana", event.Actionable)
	case "adds":
		in.Event = ev("ana", event.Ambient)
	case "thanks":
		in.Event = ev("ana", event.Ack)
	case "agrees": // to what a colleague asked
		in.Event, in.Facts.Relation = ev("ana", event.Ack), RelationAnswer
	case "nevermind":
		in.Event = ev("ana", event.Ambient)
		in.Facts.NeverMind = true
	case "colleague":
		in.Event = ev("ben", event.Ambient)
	case "benasks":
		in.Event = ev("ben", event.Actionable)
	case "benthanks":
		in.Event = ev("ben", event.Ack)
	case "bot":
		in.Event = ev("ci", event.Ambient)
		in.Event.Sender.Type = "bot"
	case "states": // not a question
		in.Event = ev("ana", event.Actionable)
		in.Event.IsQuestion = false
	case "anasure":
		in.Event = ev("ana", event.Actionable)
		in.Event.IsQuestion, in.Event.IsAckOrEmoji = false, true
	case "benstates":
		in.Event = ev("ben", event.Actionable)
		in.Event.IsQuestion = false
	case "bensure":
		in.Event = ev("ben", event.Actionable)
		in.Event.IsAckOrEmoji = true
	case "bennever":
		in.Event = ev("ben", event.Ambient)
		in.Facts.NeverMind = true
	case "anabot":
		in.Event = ev("ana", event.Ambient)
		in.Event.Sender.Type = "bot"
	case "editless", "editnever", "editold": // into no question, into a withdrawal, of what came before it
		id, text, _ := strings.Cut(rest, " ")
		in.Event = ev("ana", event.Ambient)
		in.Event.MessageID, in.Event.Content, in.Event.EditID = id, text, fmt.Sprint("e", n)
		if in.Facts.NeverMind = verb == "editnever"; verb == "editold" {
			in.Event.CreateTime = "2026-11-21T09:00:00Z"
		}
	case "pings":
		in.Event = ev("ben", event.Actionable)
		in.Event.IsQuestion, in.Event.IsBotMention = false, true
	case "changed": // an edit that says so by its time alone
		id, text, _ := strings.Cut(rest, " ")
		in.Event = ev("ana", event.Actionable)
		in.Event.MessageID, in.Event.Content, in.Event.EditedAt = id, text, at
	case "ruleless":
		in.Event = ev("ana", event.Actionable)
		in.Facts = nil
	case "long":
		in.Event = ev("ana", event.Actionable)
		in.Facts = &Facts{QuestionType: DataLookup, TypeReason: "data:which", Rubric: "r", Codebase: "c",
			ExpectedMin: 7, ExpectedBecause: []string{"long"}, Tier: 2}
	case "edit", "delete":
		id, text, _ := strings.Cut(rest, " ")
		in.Event = ev("ana", event.Actionable)
		in.Event.MessageID, in.Event.Content, in.Event.EditID = id, text, fmt.Sprint("e", n)
		in.Event.Deleted = verb == "delete"
	case "benedits", "benrewords": // into a question, or not
		id, text, _ := strings.Cut(rest, " ")
		in.Event = ev("ben", event.Actionable)
		in.Event.MessageID, in.Event.Content, in.Event.EditID, in.Event.IsQuestion = id, text,
			fmt.Sprint("e", n), verb == "benedits"
	case "askfirst":
		in.Event = ev("ana", event.Actionable)
		in.Facts.Ask = "which customer?"
	case "ours":
		in.Event = ev("tri", event.Actionable)
		in.Facts.Own = true
	case "inbox": // of an inbox
		intent, text, _ := strings.Cut(rest, " ")
		rest = text
		in.Event = ev("ana", event.Ambient)
		in.Facts.Want = Want{Intent: strings.TrimSuffix(intent, "!"), IntentScore: 12, AutonomyLevel: 2,
			Large: strings.HasSuffix(intent, "!"), Minutes: 5}
	case "notes", "notesdraft", "clarifies", "cannot":
		in.Noted = &Noted{RunID: "none", Why: rest}
		if t.InvestigatorTaskID != nil {
			in.Noted.RunID = *t.InvestigatorTaskID
		}
		switch verb {
		case "notesdraft":
			in.Noted.Draft, in.Noted.Badge = "1. milk", "your list"
		case "clarifies":
			in.Noted.Draft, in.Noted.Badge, in.Noted.Clarify = "which formats?", "asks the asker", true
		case "cannot":
			in.Noted.Badge = "nothing found"
		}
	case "thumbsdown":
		in.Rejected = &Rejected{ID: fmt.Sprint("r", n), Emoji: "👎", Answer: rest}
	case "looked": // where a long run can be watched
		id := "none"
		if t.InvestigatorTaskID != nil {
			id = *t.InvestigatorTaskID
		}
		in.Escalated = &Escalation{RunID: id, TmuxSession: new(id), TranscriptPath: "t"}
	case "heard", "heardnothing": // all that waits but the messages in rest
		in = step(t, n, map[string]string{"heard": "found", "heardnothing": "nothing"}[verb])
		for _, m := range t.Pending {
			if !strings.Contains(" "+rest+" ", " "+m.MessageID+" ") {
				in.Run.Heard = append(in.Run.Heard, t.Word(m))
			}
		}
		for _, n := range t.PendingNotes {
			in.Run.Heard = append(in.Run.Heard, t.Said(n))
		}
		return in
	case "doubtful":
		in = step(t, n, "found")
		in.Ends = []string{"asks back", "leaves questions open"}
		return in
	case "found", "nothing", "fails", "asksmore", "late":
		id := "none"
		if t.InvestigatorTaskID != nil {
			id = *t.InvestigatorTaskID
		}
		in.Run = &run.Result{RunID: id, Status: map[string]run.Phase{"found": run.Done,
			"nothing": run.Nothing, "fails": run.Failed, "asksmore": run.Done, "late": run.Failed}[verb],
			Error: rest}
		in.Escalate = verb == "asksmore" || verb == "late"
		if in.Run.Status == run.Done {
			in.Run.Value, _ = json.Marshal(draft.Return{DraftReply: "draft " + id,
				ProposedTriageFile: &draft.TriageFile{Filename: "../../n o.md", Content: "c"}})
		}
	case "pass", "bounce", "escalate", "garbage", "onebounce":
		in.LastRound = verb == "onebounce"
		verb = strings.TrimPrefix(verb, "one")
		id := "none"
		if t.ValidatorTaskID != nil {
			id = *t.ValidatorTaskID
		}
		feedback := "fix it"
		in.Run = &run.Result{RunID: id, Status: run.Done}
		in.Run.Value, _ = json.Marshal(verdict.Verdict{Verdict: verb, Proved: verdict.Quotes,
			BounceFeedback: &feedback})
		if verb == "garbage" {
			in.Run.Value = []byte(`[`)
		}
	case "spent":
		id := "none"
		if t.InvestigatorTaskID != nil {
			id = *t.InvestigatorTaskID
		}
		in.Spent = &Spent{RunID: id, Why: "budget spent"}
	case "again": // there is budget again
		id, _ := t.Broke()
		in.Resumed = &Resumed{RunID: id}
	case "vspent":
		id := "none"
		if t.ValidatorTaskID != nil {
			id = *t.ValidatorTaskID
		}
		in.Spent = &Spent{RunID: id, Why: "budget spent", Day: "2026-11-21"}
	case "unreadable":
		in.Run = &run.Result{RunID: *t.InvestigatorTaskID, Status: run.Done, Value: []byte(`[`)}
	case "wants": // a draft whose author would look longer, of a question answered before
		in.Run = &run.Result{RunID: *t.InvestigatorTaskID, Status: run.Done}
		in.Run.Value, _ = json.Marshal(draft.Return{DraftReply: "d", EscalationRequested: true,
			SummaryForOrchestrator: "s"})
	case "before":
		in.Run = &run.Result{RunID: *t.InvestigatorTaskID, Status: run.Done}
		in.Run.Value, _ = json.Marshal(draft.Return{DraftReply: "d", Before: &draft.Before{At: rest}})
	case "empty":
		in.Run = &run.Result{RunID: *t.InvestigatorTaskID, Status: run.Done,
			Value: []byte(`{"summary_for_orchestrator":"s"}`)}
	case "vhalf":
		in.Run = &run.Result{RunID: *t.ValidatorTaskID, Status: run.Failed, Error: rest,
			Value: []byte(`{"verdict":"pass"}`)}
	case "bouncebare":
		in.Run = &run.Result{RunID: *t.ValidatorTaskID, Status: run.Done,
			Value: []byte(`{"verdict":"bounce"}`)}
	case "undecided":
		in.Run = &run.Result{RunID: *t.ValidatorTaskID, Status: run.Done}
		in.Run.Value, _ = json.Marshal(verdict.Verdict{Verdict: verdict.Escalate, Proved: verdict.Undecided,
			Sentences: []verdict.Sentence{{State: verdict.Unbacked}}})
	case "vfails":
		in.Run = &run.Result{RunID: *t.ValidatorTaskID, Status: run.Failed, Error: rest}
	case "expires":
		in.Expired = &Expired{DraftSHA256: t.DraftSHA256}
	case "posted", "refused", "dropped":
		in.Reply = &outbox.Reply{Cycle: t.Cycle, DraftSHA256: t.DraftSHA256, Outcome: verb,
			PostedMessageID: "99", Why: rest}
	case "nofile":
		in.Decision = &decision.Record{N: int64(n), At: at, Kind: decision.Approve, By: "boss",
			Cycle: t.Cycle, NoFile: true}
	case "rewrite":
		in.Decision = &decision.Record{N: int64(n), At: at, Kind: decision.Edit, By: "boss", Cycle: t.Cycle}
	case "longer":
		in.Decision = &decision.Record{N: int64(n), At: at, Kind: decision.Escalate, By: "boss",
			Cycle: t.Cycle, Note: rest}
	default:
		in.Decision = &decision.Record{N: int64(n), At: at, Kind: verb, By: "boss",
			Cycle: t.Cycle, Note: rest}
	}
	return in
}

// TestLongerLook: a run may ask for one, or run out of its time; there is one in a
// cycle, and what the shorter look gave is not lost.
func TestLongerLook(t *testing.T) {
	for _, tt := range []struct{ name, story, status, badge string }{
		{"asked for", "asks why?;asksmore", Escalated, ""},
		{"time was up", "asks why?;late x", Escalated, ""},
		{"found", "asks why?;asksmore;looked;found;pass", PendingUser, "quotes checked"},
		{"asked for again", "asks why?;asksmore;asksmore", AwaitingValidation, ""},
		{"late again", "asks why?;late x;late x", PendingUser, "failed"},
		{"failed, with a draft before", "asks why?;asksmore;fails x;pass", PendingUser, "quotes checked"},
		{"nothing found, with a draft before", "asks why?;asksmore;nothing;pass", PendingUser,
			"quotes checked"},
		{"no budget, with a draft before", "asks why?;asksmore;spent;pass", PendingUser, "quotes checked"},
		{"no budget, without", "asks why?;late x;spent", PendingUser, "budget spent"},
		{"in round 2", "asks why?;found;bounce;asksmore;fails x;pass", PendingUser, "quotes checked"},
		{"late in round 2: the bounced draft is not a draft", "asks why?;found;bounce;late x;fails x",
			PendingUser, "failed"},
		{"bounced after it", "asks why?;asksmore;found;bounce", BouncedRound1, ""},
		{"the next cycle is short again", "asks why?;asksmore;edit 1 b", Investigating, ""},
		{"messages that wait come first", "asks why?;adds more;asksmore", Investigating, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var th Thread
			runs := map[string]bool{}
			for n, w := range strings.Split(tt.story, ";") {
				th, _ = Apply(th, step(th, n, w))
				runs[*th.InvestigatorTaskID] = true
			}
			if th.Status != tt.status || th.Badge != tt.badge {
				t.Errorf("%s %q, want %s %q: %+v", th.Status, th.Badge, tt.status, tt.badge, th.StatusHistory)
			}
			if th.Status == Escalated && len(runs) != 2 {
				t.Error("the longer look has the id of the shorter one")
			}
			if seen := th.EscalationTmuxSession != nil; seen != strings.Contains(tt.story, "looked") {
				t.Errorf("watched at %v", th.EscalationTmuxSession)
			}
		})
	}
}

func TestApply(t *testing.T) {
	for _, tt := range []struct {
		name   string
		story  string
		status string
		cycle  int
		check  func(Thread) bool
	}{
		{"ambient opens nothing", "adds hello", "", 0, nil},
		{"own opens nothing", "ours why?", "", 0, nil},
		{"opens", "asks why?", Investigating, 1, nil},
		{"draft", "asks why?;found", AwaitingValidation, 1, nil},
		{"pass waits for a person", "asks why?;found;pass", PendingUser, 1, func(t Thread) bool {
			return t.DraftPending != nil && t.Badge == "quotes checked"
		}},
		{"bounce goes round once", "asks why?;found;bounce", BouncedRound1, 1, func(t Thread) bool {
			return t.InvestigatorRound == 2 && t.BounceFeedback == "fix it"
		}},
		{"second bounce is the person's", "asks why?;found;bounce;found;bounce", PendingUser, 1,
			func(t Thread) bool { return t.Badge == "disagreement" && t.DraftPending != nil }},
		{"bounce then pass", "asks why?;found;bounce;found;pass", PendingUser, 1, func(t Thread) bool {
			return t.Badge == "quotes checked"
		}},
		{"escalate is the person's", "asks why?;found;escalate", PendingUser, 1, func(t Thread) bool {
			return t.Badge == "disagreement"
		}},
		{"so is what code could not decide, by that name", "asks why?;found;undecided", PendingUser, 1,
			func(t Thread) bool { return t.Badge == "not decided, 0 of 1 sentence covered" }},
		{"garbage verdict fails closed", "asks why?;found;garbage", PendingUser, 1, func(t Thread) bool {
			return t.Badge == "not validated"
		}},
		{"nothing found", "asks why?;nothing", PendingUser, 1, func(t Thread) bool {
			return t.DraftPending == nil
		}},
		{"failure", "asks why?;fails boom", PendingUser, 1, func(t Thread) bool {
			return t.InvestigatorError == "boom"
		}},
		{"no budget", "asks why?;spent", PendingUser, 1, func(t Thread) bool {
			return t.Badge == "budget spent"
		}},
		{"asks the person first", "askfirst why?", PendingUser, 1, func(t Thread) bool {
			return t.InvestigatorTaskID == nil
		}},
		{"answer starts the work", "askfirst why?;answer acme", Investigating, 2, func(t Thread) bool {
			return len(t.Notes) == 2 && t.Asked == ""
		}},
		{"approve and post", "asks why?;found;pass;approve;posted", Closed, 1, func(t Thread) bool {
			return *t.PostedMessageID == "99" && strings.HasPrefix(*t.TriageFilePath, "triage/n-o-")
		}},
		{"undo", "asks why?;found;pass;approve;undo", PendingUser, 1, func(t Thread) bool {
			return t.UserApprovedAt == nil && t.DraftPending != nil
		}},
		{"told while it works", "asks why?;now tell of prod;now tell of staging", Investigating, 1,
			func(t Thread) bool { return len(t.PendingNotes) == 2 && len(t.Notes) == 0 }},
		{"what the run heard is answered", "asks why?;now tell of prod;now heard;pass", PendingUser, 1,
			func(t Thread) bool { return t.Notes[0].Text == "of prod" && len(t.PendingNotes) == 0 }},
		{"what it did not hear begins a cycle", "asks why?;now redirect of prod;now found", Investigating, 2,
			func(t Thread) bool {
				return t.Notes[0].Relation == RelationRedirect && t.Ordered && len(t.PendingNotes) == 0
			}},
		{"told while it is validated", "asks why?;found;now tell of prod", Investigating, 2,
			func(t Thread) bool { return t.Notes[0].Text == "of prod" }},
		{"told while it works, in an earlier version", "asks why?;tell of prod", Investigating, 2,
			func(t Thread) bool { return t.Notes[0].Text == "of prod" && t.Ordered }},
		{"redirected while a draft waits", "asks why?;found;pass;redirect of prod", Investigating, 2,
			func(t Thread) bool {
				return strings.HasSuffix(t.Notes[0].Text, ": of prod") && t.EarlierDraft != ""
			}},
		{"cancelled while it works", "asks why?;adds more;cancel no", Closed, 1, func(t Thread) bool {
			return t.Withdrawn() && t.CloseReason == "cancelled by boss: no"
		}},
		{"a follow-up edited into a withdrawal", "asks why?;asks how?;now editnever 2 never mind;found;pass",
			PendingUser, 1, func(t Thread) bool { return len(t.Messages) == 1 && len(t.Pending) == 0 }},
		{"the same, in an earlier version", "asks why?;asks how?;editnever 2 never mind", Investigating, 1,
			func(t Thread) bool { return len(t.Pending) == 1 }},
		{"one of two deleted after the end, and the other edited",
			"asks why?;found;pass;asks how?;found;pass;expires;delete 4;now edit 1 who?", Investigating, 3,
			func(t Thread) bool { return len(t.Messages) == 1 && t.Messages[0].Content == "who?" }},
		{"a deleted one edited", "asks why?;found;pass;expires;delete 1;now edit 1 who?", Closed, 1, nil},
		{"the last one deleted after the end", "asks why?;found;pass;asks how?;found;pass;expires;delete 4;undo",
			PendingUser, 2, func(t Thread) bool {
				_, _, to := t.Target()
				return to == "1" && t.Text() == "why?"
			}},
		{"cancelled, and asked again", "asks why?;cancel no;asks how?", Investigating, 2, nil},
		{"dismiss", "asks why?;found;pass;dismiss no", Closed, 1, func(t Thread) bool {
			return t.CloseReason == "dismissed: no" && t.DraftPending == nil
		}},
		{"reopened", "asks why?;found;pass;dismiss no;reopen it matters", Investigating, 2,
			func(t Thread) bool {
				return t.Notes[0].Text == "it matters" && t.Ordered && t.ClosedAt == nil &&
					len(t.Messages) == 1
			}},
		{"reopened, what was cancelled", "asks why?;cancel no;reopen", Investigating, 2, nil},
		{"an answer is not reopened", "asks why?;found;pass;approve;posted;reopen", Closed, 1, nil},
		{"nor what is open", "asks why?;found;pass;reopen", PendingUser, 1, nil},
		{"nor a question that was deleted", "asks why?;found;pass;dismiss no;delete 1;reopen",
			Closed, 1, nil},
		{"redo", "asks why?;found;pass;redo look at x", Investigating, 2, func(t Thread) bool {
			return t.Notes[0].Text == "look at x" && t.DraftPending == nil
		}},
		{"revoke", "asks why?;found;pass;approve;revoke moved", Investigating, 2, func(t Thread) bool {
			return t.UserApprovedAt == nil
		}},
		{"refused", "asks why?;found;pass;approve;refused", Closed, 1, func(t Thread) bool {
			return t.PostedMessageID == nil
		}},
		{"follow-up in a round waits", "asks why?;adds error 42", Investigating, 1, func(t Thread) bool {
			return len(t.Pending) == 1 && len(t.PendingMessageIDs) == 1
		}},
		{"so does yes to what a colleague asked", "asks why?;agrees yes", Investigating, 1,
			func(t Thread) bool { return len(t.Pending) == 1 }},
		{"thanks do not", "asks why?;thanks ty", Investigating, 1, func(t Thread) bool {
			return len(t.Pending) == 0
		}},
		{"and is answered with the rest", "asks why?;adds error 42;found;pass", Investigating, 2,
			func(t Thread) bool { return len(t.Messages) == 2 && len(t.PendingMessageIDs) == 0 }},
		{"follow-up voids a waiting draft", "asks why?;found;pass;adds error 42", Investigating, 2,
			func(t Thread) bool { return t.DraftPending == nil }},
		{"follow-up after approval waits", "asks why?;found;pass;approve;adds error 42", PendingUser, 1,
			func(t Thread) bool { return len(t.Pending) == 1 }},
		{"and comes after the post", "asks why?;found;pass;approve;adds error 42;posted", Investigating, 2,
			func(t Thread) bool { return len(t.Messages) == 1 && t.Messages[0].Content == "error 42" }},
		{"thanks change nothing", "asks why?;found;pass;thanks", PendingUser, 1, func(t Thread) bool {
			return t.DraftPending != nil
		}},
		{"colleague's answer is kept beside", "asks why?;found;pass;colleague because", PendingUser, 1,
			func(t Thread) bool { return len(t.HumanReplies) == 1 }},
		{"never mind", "asks why?;nevermind nvm", Closed, 1, func(t Thread) bool {
			return strings.Contains(t.CloseReason, "withdrew")
		}},
		{"edit before the answer", "asks why?;found;pass;edit 1 how?", Investigating, 2, func(t Thread) bool {
			return t.Messages[0].Content == "how?" && len(t.Messages) == 1
		}},
		{"edit that changes nothing", "asks why?;found;pass;edit 1 why?", PendingUser, 1, nil},
		{"edit into what the rules do not take for a question", "long why?;found;pass;editless 1 how", Escalated,
			2, func(t Thread) bool { return t.Codebase == "c" && t.TypeReason == "data:which" }},
		{"edit of a follow-up", "long why?;found;pass;adds more;edit 4 and how?", Escalated, 3,
			func(t Thread) bool { return t.Codebase == "c" && t.TypeReason == "data:which" }},
		{"edit into a withdrawal", "asks why?;found;pass;editnever 1 nvm", Closed, 1,
			func(t Thread) bool { return t.Withdrawn() && t.DraftPending == nil }},
		{"edit of a follow-up into one", "asks why?;found;pass;adds more;editnever 4 nvm", Investigating, 3,
			func(t Thread) bool { return len(t.Messages) == 1 }},
		{"edit of what came before the question", "asks why?;found;pass;editold 0 morning", PendingUser, 1,
			func(t Thread) bool { return len(t.Messages) == 1 }},
		{"an edit that is all that was read of a follow-up", "asks why?;found;pass;editless 3 more", Investigating,
			2, func(t Thread) bool { return len(t.Messages) == 2 }},
		{"what is added without budget is in order", "asks why?;adds of prod;spent;adds of v2", Investigating, 2,
			func(t Thread) bool { return len(t.Messages) == 3 && t.Messages[2].Content == "of v2" }},
		{"a question to the asker that was not posted", "inbox code_change! a;clarifies;redo do it;found;" +
			"approve;posted", Closed, 2, func(t Thread) bool { return t.CloseReason == "answered" }},
		{"an answer marked as wrong", "asks why?;found;pass;approve;posted;thumbsdown 9;thumbsdown 9", Closed,
			1, func(t Thread) bool {
				return len(t.Alerts) == 1 && strings.Contains(t.Alerts[0].Text, "answer 9 as wrong") &&
					t.PostedMessageID != nil
			}},
		{"edit after the answer is told", "asks why?;found;pass;approve;posted;edit 1 how?", Closed, 1,
			func(t Thread) bool { return len(t.Alerts) == 1 }},
		{"deletion closes", "asks why?;found;pass;delete 1", Closed, 1, func(t Thread) bool {
			return t.DraftPending == nil
		}},
		{"deletion of a part", "asks why?;found;pass;asks and how?;delete 4", Investigating, 3,
			func(t Thread) bool { return len(t.Messages) == 1 }},
		{"reopens", "asks why?;found;pass;approve;posted;asks and now?", Investigating, 2,
			func(t Thread) bool { return len(t.Messages) == 1 && len(t.Context) == 1 }},
		{"thanks that become a question", "asks why?;thanks;edit 2 but how?;found;pass", Investigating, 2,
			func(t Thread) bool {
				return len(t.Messages) == 2 && t.Messages[1].Content == "but how?" && len(t.Context) == 0
			}},
		{"what waited when it was withdrawn is not part of the next question",
			"asks why?;adds more;nevermind nvm;asks and now?", Investigating, 2, func(t Thread) bool {
				_, _, replyTo := t.Target()
				return replyTo == "4" && len(t.Messages) == 1 && len(t.Context) == 3
			}},
		{"another asker's question is a remark here", "asks why?;benasks why here?;found;pass", PendingUser,
			1, func(t Thread) bool { return len(t.Messages) == 1 && len(t.HumanReplies) == 1 }},
		{"and voids no draft", "asks why?;found;pass;benasks why here?", PendingUser, 1, func(t Thread) bool {
			return t.DraftPending != nil
		}},
		{"nor reopens", "asks why?;found;pass;approve;posted;benasks why here?", Closed, 1, nil},
		{"nobody else withdraws", "asks why?;bennever nvm", Investigating, 1, nil},
		{"withdrawn between yes and post", "asks why?;found;pass;approve;nevermind nvm", Closed, 1,
			func(t Thread) bool { return t.CloseReason == withdrew }},
		{"thanks below the answer", "asks why?;found;pass;approve;posted;anasure @tri thanks!",
			Closed, 1, nil},
		{"a question that was dismissed and is edited", "asks why?;found;pass;dismiss no;edit 1 how?",
			Investigating, 2, func(t Thread) bool {
				return t.Messages[0].Content == "how?" && len(t.Context) == 0
			}},
		{"one that expired", "asks why?;found;pass;expires;edit 1 how?", Investigating, 2, nil},
		{"one that was withdrawn", "asks why?;nevermind nvm;edit 1 how?", Closed, 1, func(t Thread) bool {
			return len(t.Alerts) == 1
		}},
		{"an earlier question that is edited",
			"asks why?;found;pass;approve;posted;asks and now?;edit 1 how?", Investigating, 2,
			func(t Thread) bool { return len(t.Alerts) == 1 }},
		{"revoked since it was deleted", "asks why?;found;pass;approve;revoke " + Gone, Closed, 1,
			func(t Thread) bool { return t.CloseReason == Gone }},
		{"posted after an edit", "asks why?;found;pass;approve;edit 1 how?;stale posted", Investigating, 2,
			func(t Thread) bool { return len(t.Alerts) == 1 }},
		{"round 2 has the draft before it", "asks why?;found;bounce", BouncedRound1, 1, func(t Thread) bool {
			return strings.HasPrefix(t.EarlierDraft, "draft i-")
		}},
		{"so has a redo", "asks why?;found;pass;redo x", Investigating, 2, func(t Thread) bool {
			return strings.HasPrefix(t.EarlierDraft, "draft i-")
		}},
		{"but no follow-up", "asks why?;found;bounce;edit 1 how?", Investigating, 2, func(t Thread) bool {
			return t.EarlierDraft == ""
		}},
		{"one round", "asks why?;found;onebounce", PendingUser, 1, func(t Thread) bool {
			return t.Badge == "disagreement" && t.DraftPending != nil
		}},
		{"what is added while the operator is asked is shown", "askfirst why?;adds for acme", PendingUser, 1,
			func(t Thread) bool { return len(t.Messages) == 2 && t.Asked != "" }},
		{"a remark that stays one", "asks why?;benstates slow here;benrewords 2 slow there", Investigating, 1,
			func(t Thread) bool {
				return len(t.Context) == 1 && t.Context[0].Content == "slow there" &&
					len(t.HumanReplies) == 1 &&
					t.HumanReplies[0].Content == "slow there"
			}},
		{"a remark that is taken back", "asks why?;colleague because;delete 2", Investigating, 1,
			func(t Thread) bool { return len(t.Context)+len(t.HumanReplies) == 0 }},
		{"ack after the answer", "asks why?;found;pass;approve;posted;thanks", Closed, 1, nil},
		{"expiry", "asks why?;found;pass;expires", Closed, 1, nil},
		{"expiry taken back", "asks why?;found;pass;expires;undo", PendingUser, 1, func(t Thread) bool {
			return t.DraftPending != nil && t.DraftSHA256 == decision.Sum(*t.DraftPending) &&
				t.ClosedAt == nil && t.CloseReason == ""
		}},
		{"expiry of a doubtful draft taken back", "asks why?;doubtful;pass;expires;undo", PendingUser, 1,
			func(t Thread) bool { return t.Badge == "quotes checked, asks back, leaves questions open" }},
		{"expiry taken back, and approved", "asks why?;found;pass;expires;undo;approve;posted", Closed, 1,
			func(t Thread) bool { return t.CloseReason == "answered" }},
		{"undo of another end", "asks why?;found;pass;dismiss no;undo", Closed, 1, nil},
		{"no expiry once approved", "asks why?;found;pass;approve;expires", PendingUser, 1, nil},
		{"stale run", "asks why?;found;pass;redo x;pass", Investigating, 2, nil},
		{"a late reply of an older cycle", "asks why?;found;pass;approve;revoke x;posted", Closed, 2, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var th Thread
			for n, words := range strings.Split(tt.story, ";") {
				in := step(th, n, words)
				next, _ := Apply(th, in)
				again, effects := Apply(next, in)
				if !reflect.DeepEqual(again, next) || effects != nil {
					t.Fatalf("%q applied twice changed the thread", words)
				}
				th = next
			}
			if th.Status != tt.status || th.Cycle != tt.cycle || tt.check != nil && !tt.check(th) {
				b, _ := json.MarshalIndent(th, "", " ")
				t.Errorf("status %q cycle %d, want %q %d\n%s", th.Status, th.Cycle, tt.status, tt.cycle, b)
			}
		})
	}
}

// TestRandomStories applies random inputs in random order and checks the invariants of every
// thread: it is never stuck, and what it would post was validated in the same cycle.
func TestRandomStories(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and alone: make check has it without the race detector")
	}
	words := []string{"asks why?", "adds more", "thanks", "nevermind nvm", "colleague x", "benstates x",
		"benedits 2 c", "edit 2 a", "edit 1 b", "delete 1", "delete 2",
		"askfirst x", "ours x", "found", "heard", "heard 2", "heardnothing", "nothing", "fails x", "asksmore",
		"late x", "looked", "spent", "pass", "bounce", "escalate", "garbage", "expires", "posted", "refused",
		"inbox code_change! a", "inbox todo b", "notes c", "notesdraft d", "clarifies e", "cannot f",
		"thumbsdown", "approve", "edit", "undo", "dismiss x", "redo x", "answer x", "revoke x", "tell x",
		"redirect x", "cancel x", "reopen x"}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 4000 {
		var th Thread
		var story []string
		for n := range 25 {
			w := words[rng.IntN(len(words))]
			if rng.IntN(2) == 0 {
				w = "now " + w
			}
			story = append(story, w)
			before, _ := json.Marshal(th)
			next, _ := Apply(th, step(th, n, w))
			if after, _ := json.Marshal(th); string(after) != string(before) {
				t.Fatalf("%v: Apply changed its argument", story)
			}
			th = next
			if msg := wrong(th); msg != "" {
				b, _ := json.MarshalIndent(th, "", " ")
				t.Fatalf("%v: %s\n%s", story, msg, b)
			}
		}
	}
}

// TestForks: two threads that have come of one share nothing that Apply changes.
func TestForks(t *testing.T) {
	words := []string{"adds more", "thanks", "colleague x", "edit 1 b", "delete 2", "found", "pass", "bounce",
		"posted", "approve", "redo x", "answer y", "asks why?"}
	rng := rand.New(rand.NewPCG(3, 4))
	for range 400 {
		var th Thread
		th, _ = Apply(th, step(th, 0, "asks why?"))
		// so that the same lists grow
		few := []string{words[rng.IntN(len(words))], words[rng.IntN(len(words))]}
		for n := 1; n < 15; n++ {
			a, b := few[rng.IntN(2)], few[rng.IntN(2)]
			one, _ := Apply(th, step(th, n, a))
			before, _ := json.Marshal(one)
			two, _ := Apply(th, step(th, n+100, b))
			if after, _ := json.Marshal(one); string(after) != string(before) {
				t.Fatalf("%q changed what became of %q:\n%s\n%s", b, a, before, after)
			}
			th = two
		}
	}
	var th Thread
	for n, w := range strings.Split("asks why?;found;pass;approve;posted;edit 1 a;edit 1 b;edit 1 c", ";") {
		th, _ = Apply(th, step(th, n, w))
	}
	one, _ := Apply(th, step(th, 20, "edit 1 d"))
	if _, _ = Apply(th, step(th, 21, "edit 1 e")); one.Alerts[3].At != step(th, 20, "thanks").At {
		t.Errorf("the alert of one is that of the other: %+v", one.Alerts[3])
	}
}

func wrong(t Thread) string {
	due := func(kind string) bool {
		return slices.ContainsFunc(Due(t), func(e Effect) bool {
			return e.Kind == kind && (e.RunID != "" || kind == EffectOffer)
		})
	}
	switch {
	case t.Key == "":
		return ""
	case !t.AtRest() && !due(EffectInvestigate) && !due(EffectValidate):
		return "moving, and nothing is due"
	case t.AtRest() && (due(EffectInvestigate) || due(EffectValidate)):
		return "at rest, and a run is due"
	case t.DraftPending != nil && (t.InvestigatorReturn == nil ||
		decision.Sum(*t.DraftPending) != t.DraftSHA256):
		return "a draft that no return gave"
	case t.Status == PendingUser && len(t.Pending) > 0 && t.UserApprovedAt == nil && t.Asked == "" &&
		t.Badge != "budget spent":
		return "messages wait for nothing"
	case t.Status == Closed && len(t.Pending) > 0 && t.CloseReason != "nobody decided in time" &&
		!strings.Contains(t.CloseReason, "withdrew") && !strings.Contains(t.CloseReason, "deleted") &&
		!t.Withdrawn():
		return "closed over waiting messages: " + t.CloseReason
	case t.Resume != nil && (t.Resume.RunID == "" || t.Resume.Cycle < 1 || t.Resume.Cycle > t.Cycle):
		return "no run to resume"
	case t.InvestigatorRound > 2:
		return "a third round"
	case t.Status == Closed && t.PostedMessageID == nil && t.DraftPending != nil:
		return "closed with a draft"
	}
	return ""
}

// TestStale: a draft that waiting messages have made stale is not validated, and its validation ends; a
// journal of an earlier version folds as it did.
func TestStale(t *testing.T) {
	for _, tt := range []struct {
		story, status, why string
		cycle              int
	}{
		{"asks why?;adds more;found", AwaitingValidation, "the investigator returned a draft", 1},
		{"asks why?;now adds more;now found", Investigating,
			"messages came during the round: its draft is stale, and was not validated", 2},
		{"asks why?;now found", AwaitingValidation, "the investigator returned a draft", 1},
		{"asks why?;found;adds more", AwaitingValidation, "the investigator returned a draft", 1},
		{"asks why?;now found;now adds more", Investigating,
			"a follow-up came: the draft is stale, and its validation ends", 2},
		{"asks why?;now found;now thanks", AwaitingValidation, "the investigator returned a draft", 1},
		{"asks why?;now found;now colleague x", AwaitingValidation, "the investigator returned a draft", 1},
		{"asks why?;now adds more;now nothing", Investigating, "messages came during the round", 2},
		{"asks why?;now adds more;delete 2;now found", AwaitingValidation,
			"the investigator returned a draft", 1},
		{"asks why?;now found;now nevermind nvm", Closed, "the asker withdrew the question", 1},
	} {
		var th Thread
		for n, w := range strings.Split(tt.story, ";") {
			th, _ = Apply(th, step(th, n, w))
		}
		last := th.StatusHistory[len(th.StatusHistory)-1]
		if th.Status != tt.status || last.Why != tt.why || th.Cycle != tt.cycle ||
			tt.cycle == 2 && len(th.Messages) != 2 {
			t.Errorf("%s: %s, cycle %d, %q, %d messages", tt.story, th.Status, th.Cycle, last.Why,
				len(th.Messages))
		}
	}
}

// TestResume: the next cycle continues the run before, unless what that one read is void.
func TestResume(t *testing.T) {
	for _, tt := range []struct{ story, want string }{
		{"asks why?;now found", ""}, // of this cycle
		{"asks why?;found;pass;adds more", ""},
		{"asks why?;now found;now pass;now adds more", "i1"},
		{"asks why?;now adds more;now found", "i1"},
		{"asks why?;now found;now pass;approve;posted;now asks and now?", "i1"},
		{"asks why?;now found;now pass;now adds more;now fails x;now adds yet more", "i1"},
		{"asks why?;now found;now pass;now adds more;now found;now pass;now adds yet more", "i2"},
		{"asks why?;now found;now bounce", ""}, // a second round begins anew
		{"asks why?;now found;now pass;redo x", ""},
		{"asks why?;now adds more;now found;delete 2", ""},
		{"asks why?;now found;now pass;approve;posted;long elsewhere", ""}, // another codebase
	} {
		var th Thread
		ids := map[string]string{}
		for n, w := range strings.Split(tt.story, ";") {
			th, _ = Apply(th, step(th, n, w))
			ids[run.ID(run.Investigate, key, n+1, 1)] = fmt.Sprint("i", n+1)
		}
		got := ""
		if e := th.Earlier(); e != nil {
			got = ids[e.RunID]
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.story, got, tt.want)
		}
	}
}

// TestHeard: a message leaves the list of those that wait only if the result says that the run had it, as
// it now is.
func TestHeard(t *testing.T) {
	for _, tt := range []struct{ story, status, asked, waits string }{
		{"asks why?;adds more;now heard", AwaitingValidation, "why? more", ""},
		// the next cycle
		{"asks why?;adds more;adds yet more;now heard 3", Investigating, "why? more yet more", ""},
		{"asks why?;adds more;now found", Investigating, "why? more", ""},
		{"asks why?;adds more;now heardnothing", PendingUser, "why? more", ""},
		{"asks why?;adds more;now nothing", Investigating, "why? more", ""},
		{"asks why?;adds more;fails x", Investigating, "why? more", ""},
		{"asks why?;found;bounce;adds more;now heard", AwaitingValidation, "why? more", ""},
		{"asks why?;adds more;asksmore;adds again;now heard", AwaitingValidation, "why? more again", ""},
	} {
		var th Thread
		for n, w := range strings.Split(tt.story, ";") {
			th, _ = Apply(th, step(th, n, w))
		}
		var asked []string
		for _, m := range th.Messages {
			asked = append(asked, m.Content)
		}
		if got := strings.Join(asked, " "); th.Status != tt.status || got != tt.asked ||
			strings.Join(th.PendingMessageIDs, " ") != tt.waits || th.PendingMessageIDs == nil {
			t.Errorf("%s: %s, %q, %q wait", tt.story, th.Status, got, th.PendingMessageIDs)
		}
	}
	var th Thread
	for n, w := range strings.Split("asks why?;adds more", ";") {
		th, _ = Apply(th, step(th, n, w))
	}
	in := step(th, 3, "now heard")
	th, _ = Apply(th, step(th, 4, "edit 2 other")) // after it was heard
	if in.Stale = th.Stales(in); !in.Stale {
		t.Error("an edited message counts as heard")
	}
	if th, _ = Apply(th, in); th.Cycle != 2 || len(th.Messages) != 2 {
		t.Errorf("cycle %d: %+v", th.Cycle, th.Messages)
	}
}

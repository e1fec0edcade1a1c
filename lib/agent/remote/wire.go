package remote

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"tri/lib/agent"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/draft"
)

// Version is the version of the lines. A machine refuses any other.
const Version = 1

// Limits of the lines, in bytes.
const (
	MaxOrder = 2<<20 - 64<<10 // of an order or a result: fits into a message of the broker
	MaxLine  = 4 << 20
	MaxFile  = 80 << 20  // of one file that comes back
	MaxPart  = 512 << 10 // of a file in one line
	maxText  = 4 << 10   // of an event or an error
)

// Message is a line in either direction; exactly one field is set.
type Message struct {
	// To the worker.
	Order   *Order   `json:"order,omitempty"` // the first line
	Word    *Word    `json:"word,omitempty"`
	Checked *Checked `json:"checked,omitempty"`
	Cancel  bool     `json:"cancel,omitempty"`

	// From the worker.
	Taken   *Taken       `json:"taken,omitempty"`
	Refused *Refused     `json:"refused,omitempty"` // nothing was started
	Event   *agent.Event `json:"event,omitempty"`
	Heard   *Heard       `json:"heard,omitempty"`
	Check   *Check       `json:"check,omitempty"`
	File    *Part        `json:"file,omitempty"` // before Result
	Result  *Result      `json:"result,omitempty"`
}

// Order is a task without what stays on the hub.
type Order struct {
	V         int             `json:"v"`
	ID        string          `json:"id"` // 32 hex digits
	Run       string          `json:"run"`
	Agent     string          `json:"agent"`
	Model     string          `json:"model,omitempty"`
	Sandbox   string          `json:"sandbox,omitempty"` // the hub's setting
	Codebase  string          `json:"codebase"`          // its name
	Commit    string          `json:"commit,omitempty"`
	Prompt    string          `json:"prompt"`
	Question  string          `json:"question,omitempty"`
	Messages  []string        `json:"messages,omitempty"`
	Schema    json.RawMessage `json:"schema,omitempty"`
	Tools     []string        `json:"tools,omitempty"`
	Hidden    []string        `json:"hidden,omitempty"`
	SessionID string          `json:"session_id"`

	MaxTurns   int     `json:"max_turns,omitempty"`
	MaxCostUSD float64 `json:"max_cost_usd,omitempty"`
	Check      bool    `json:"check,omitempty"` // the hub checks values
	Words      bool    `json:"words,omitempty"` // words may come
}

// Word is an agent.Word.
type Word struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// Check asks the hub what is wrong with a value.
type Check struct {
	N     int    `json:"n"`
	Value []byte `json:"value"`
}

// Checked answers a Check. Fault is "" for an acceptable value; Repair is the instruction for the agent.
type Checked struct {
	N      int    `json:"n"`
	Fault  string `json:"fault,omitempty"`
	Repair string `json:"repair,omitempty"`
}

// Taken says that a worker has begun. Try counts the workers that have begun this job, from 1.
type Taken struct {
	Worker string `json:"worker"`
	Try    int    `json:"try,omitempty"`
}

// Heard says what became of a word.
type Heard struct {
	ID  string `json:"id"`
	How string `json:"how"`
}

// Refused says why a worker cannot run the job.
type Refused struct {
	Worker string `json:"worker"`
	Reason string `json:"reason"`
}

func (r *Refused) Error() string {
	return fmt.Sprintf("%q cannot: %s", text.Line(r.Worker, 100), text.Line(r.Reason, 500))
}

// Part is a part of a file of the run's folder, in order.
type Part struct {
	Name string `json:"name"`
	Data []byte `json:"data"`
}

// Sum is a file as it was sent.
type Sum struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Files are the files that come back.
var Files = []string{"transcript.ndjson", "stderr.txt"}

// Result is an agent.Result with its error. SHA256 is that of Value and Text.
type Result struct {
	ID        string      `json:"id"`
	Worker    string      `json:"worker"`
	Value     []byte      `json:"value,omitempty"`
	Text      string      `json:"text,omitempty"`
	Model     string      `json:"model,omitempty"`
	SessionID string      `json:"session_id,omitempty"`
	Usage     draft.Usage `json:"usage"`
	SHA256    string      `json:"sha256"`
	Files     []Sum       `json:"files,omitempty"`
	Error     *Fault      `json:"error,omitempty"`
}

// Fault is an error on its way.
type Fault struct {
	Message string   `json:"message"`
	Status  int      `json:"status,omitempty"` // sysexit
	Kind    string   `json:"kind,omitempty"`   // agent.Failure
	Hints   []string `json:"hints,omitempty"`
	Is      string   `json:"is,omitempty"` // a key of sentinels
}

// Canceled is the Fault.Is of a run that the hub or the worker has ended: it may be run again.
const Canceled = "canceled"

var sentinels = map[string]error{"nothing": agent.ErrNothing, "no_resume": agent.ErrNoResume,
	"no_steer": agent.ErrNoSteer}

// FaultOf returns the form of err; nil for nil.
func FaultOf(err error) *Fault {
	if err == nil {
		return nil
	}
	f := &Fault{Message: text.CutBytes(err.Error(), maxText), Hints: sysexit.Hints(err)}
	f.Status, _ = sysexit.Of(err)
	if failure, ok := errors.AsType[*agent.Failure](err); ok {
		f.Kind = failure.Kind
	}
	for is, sentinel := range sentinels {
		if errors.Is(err, sentinel) {
			f.Is = is
		}
	}
	return f
}

var failures = []string{agent.OOM, agent.Timeout, agent.ToolError, agent.Abort, agent.TestsFailed,
	agent.Killed, agent.Unknown}

// Err returns the error; its words are the other machine's.
func (f *Fault) Err() error {
	if f == nil {
		return nil
	}
	err := errors.New(strings.ToValidUTF8(text.CutBytes(f.Message, maxText), "?"))
	if is := sentinels[f.Is]; is != nil {
		err = fmt.Errorf("%w: %s", is, err)
	}
	if slices.Contains(failures, f.Kind) {
		err = agent.Fail(f.Kind, err)
	}
	if f.Status >= sysexit.Usage && f.Status <= sysexit.Config {
		err = sysexit.With(f.Status, err)
	}
	for _, hint := range f.Hints[:min(len(f.Hints), 3)] {
		err = sysexit.Hint(err, text.Line(hint, 300))
	}
	return err
}

// Reader reads messages from lines.
type Reader struct{ r *bufio.Reader }

// NewReader returns a reader of r.
func NewReader(r io.Reader) *Reader { return &Reader{bufio.NewReaderSize(r, 64<<10)} }

// Next returns the next message. io.EOF is the end.
func (r *Reader) Next() (m Message, err error) {
	var line []byte
	for {
		part, err := r.r.ReadSlice('\n')
		if line = append(line, part...); len(line) > MaxLine {
			return m, fmt.Errorf("a line of more than %d bytes", MaxLine)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			if len(line) > 0 && errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return m, err
		}
	}
	return m, m.Read(line)
}

// Read decodes a line.
func (m *Message) Read(line []byte) error {
	if err := json.Unmarshal(line, m); err != nil {
		return fmt.Errorf("not a message of tri-nats: %w", err)
	}
	return nil
}

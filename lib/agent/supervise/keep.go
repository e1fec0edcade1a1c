package supervise

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"tri/lib/agent"
	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/draft"
	"tri/lib/record/run"
)

// keeper writes a run's state and event stream. A nil keeper writes nothing.
type keeper struct {
	home   *durable.Home
	stream *os.File
	saved  time.Time
}

// event is a line of raw/stream.jsonl.
type event struct {
	At string `json:"at"`
	agent.Event
}

func openKeeper(dir string) (*keeper, error) {
	h, err := durable.Open(dir)
	if err != nil {
		return nil, err
	}
	k := &keeper{home: h}
	err = h.Root().MkdirAll(path.Dir(run.StreamName), 0o700) // the stream need not outlive a power cut
	if err == nil {
		k.stream, err = h.Root().OpenFile(run.StreamName, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	}
	if err == nil {
		err = endLine(k.stream)
	}
	if err != nil {
		return nil, errors.Join(sysexit.Errorf(sysexit.IO, "keep events of the run: %w", err), k.close())
	}
	return k, nil
}

// endLine ends an incomplete last line, left by an attempt that was killed while writing it.
func endLine(f *os.File) error {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, info.Size()-1); err != nil || last[0] == '\n' {
		return err
	}
	_, err = f.WriteString("\n")
	return err
}

func (k *keeper) load() (run.State, error) {
	s, err := run.LoadState(k.home.Dir())
	if errors.Is(err, fs.ErrNotExist) {
		return run.State{}, nil
	}
	return s, err
}

// due reports whether state.json is old enough to be rewritten for a heartbeat.
func (k *keeper) due(now time.Time) bool { return k != nil && now.Sub(k.saved) >= every }

func (k *keeper) save(s *run.State, now time.Time) error {
	if k == nil {
		return nil
	}
	k.saved = now
	return s.Save(k.home, ".")
}

// note appends an event to the stream, in one write.
func (k *keeper) note(e agent.Event, now time.Time) error {
	if k == nil {
		return nil
	}
	for _, field := range []*string{&e.Text, &e.Tool, &e.Lines, &e.SessionID} {
		*field = text.CutBytes(strings.ToValidUTF8(*field, "\ufffd"), maxText)
	}
	line, err := json.Marshal(event{text.Timestamp(now), e})
	if err == nil {
		_, err = k.stream.Write(append(line, '\n'))
	}
	if err != nil {
		return sysexit.Errorf(sysexit.IO, "keep events of the run: %w", err)
	}
	return nil
}

// maxText bounds each text kept of one event, in bytes: a longer line would be longer than run.Tail reads at
// once. The program's own output has the full text.
const maxText = 16 << 10

// artifact returns the best file that the run has produced so far.
func (k *keeper) artifact() string {
	if k == nil {
		return ""
	}
	return run.Artifact(k.home)
}

func (k *keeper) close() error {
	if k == nil {
		return nil
	}
	var err error
	if k.stream != nil {
		err = k.stream.Close()
	}
	return errors.Join(err, k.home.Close())
}

// same reports whether two usages have the same tokens and cost.
func same(a, b draft.Usage) bool {
	cost := func(u draft.Usage) float64 {
		if u.CostUSD == nil {
			return -1
		}
		return *u.CostUSD
	}
	return a.InputTokens == b.InputTokens && a.OutputTokens == b.OutputTokens && cost(a) == cost(b)
}

// add adds the usage of an attempt to that of earlier ones, nil if there were none.
func add(earlier *draft.Usage, u draft.Usage) *draft.Usage {
	if earlier != nil {
		u = earlier.Plus(u)
	}
	return &u
}

// describe summarizes an event in one line.
func describe(e agent.Event) string {
	if e.Tool != "" {
		return text.Line(e.Tool+" "+e.Text, 200)
	}
	return text.Line(e.Text, 200)
}

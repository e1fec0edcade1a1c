package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"tri/lib/agent/remote"
	"tri/lib/base/sysexit"
)

// lines is a link of lines, for ssh.
type lines struct {
	in  *remote.Reader
	mu  sync.Mutex
	out io.Writer
}

func (l *lines) Next() (remote.Message, error) { return l.in.Next() }

func (l *lines) Send(m remote.Message) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err = l.out.Write(append(b, '\n'))
	return err
}

// order reads the order in the first line, nil if there is no line.
func (l *lines) order() (*remote.Order, error) {
	m, err := l.Next()
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err == nil && m.Order == nil {
		err = errors.New("the first line is not an order")
	}
	if err != nil {
		return nil, sysexit.With(sysexit.Data, fmt.Errorf("read the order: %w", err))
	}
	return m.Order, nil
}

// Stdio runs the job whose order is the first line of in, and answers on out. When in ends, the run does.
func (w *Worker) Stdio(ctx context.Context, in io.Reader, out io.Writer) error {
	l := &lines{in: remote.NewReader(in), out: out}
	order, err := l.order()
	if err != nil || order == nil {
		return err
	}
	err = w.Do(ctx, order, l)
	if refused := new(remote.Refused); errors.As(err, &refused) {
		err = l.Send(remote.Message{Refused: refused})
	}
	if err != nil {
		return sysexit.With(sysexit.IO, fmt.Errorf("answer the hub: %w", err))
	}
	return nil
}

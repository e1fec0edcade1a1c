package broker

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tri/lib/base/lazyregexp"
	"tri/lib/base/sysexit"
)

// The streams of jobs. A job's id is the last part of its subjects, so that none of them has text of a chat.
const (
	workStream   = "TRI_WORK"
	resultStream = "TRI_RESULT"
	workers      = "workers" // the consumer that all workers share
	keepResults  = 7 * 24 * time.Hour
)

func workSubject(id string) string   { return "tri.work." + id }
func resultSubject(id string) string { return "tri.result." + id }

// What worker and hub say of a job while it runs has the worker's key in its subject, so that no worker
// can read what is said to another, or speak under another's key. Any worker may begin a try of any job and
// store its result: they are trusted alike.
func upSubject(key, id string) string   { return "tri.up." + key + "." + id }
func downSubject(key, id string) string { return "tri.down." + key + "." + id }

const whoSubject = "tri.who"

// Errors of jobs.
var (
	ErrDone  = errors.New("the job has a result")
	ErrTwice = errors.New("two workers began the job and ended without a result")
)

var jobID = lazyregexp.New(`^[0-9a-f]{32}$`)

// Hub hands out jobs.
type Hub struct{ c *Conn }

// Hub makes the streams of jobs, if they are not there.
func (c *Conn) Hub(ctx context.Context) (*Hub, error) {
	work, err := c.ensure(ctx, jetstream.StreamConfig{
		Name: workStream, Subjects: []string{"tri.work.*"}, Retention: jetstream.WorkQueuePolicy,
		MaxBytes: maxWork, Discard: jetstream.DiscardNew,
	})
	if err != nil {
		return nil, err
	}
	_, err = c.ensure(ctx, jetstream.StreamConfig{
		Name: resultStream, Subjects: []string{"tri.result.*", "tri.part.*.*", "tri.start.*.*"},
		MaxAge: keepResults, MaxBytes: maxResults,
		Discard: jetstream.DiscardOld, AllowDirect: true, DenyDelete: true, DenyPurge: true,
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if _, err = work.Consumer(ctx, workers); errors.Is(err, jetstream.ErrConsumerNotFound) {
		_, err = work.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
			Durable: workers, AckPolicy: jetstream.AckExplicitPolicy, AckWait: c.Lease, MaxAckPending: 10000,
			MaxDeliver: -1,
		})
	}
	return &Hub{c}, Explain(err)
}

// Submit queues a job; one that is queued or runs already is left as it is.
func (h *Hub) Submit(ctx context.Context, id string, data []byte) error {
	if !jobID.MatchString(id) {
		return sysexit.Errorf(sysexit.Data, "submit job: %q is not an id", id)
	}
	_, err := h.c.js.Publish(ctx, workSubject(id), data, jetstream.WithExpectLastSequencePerSubject(0))
	if isWrongSequence(err) {
		err = nil
	}
	return Explain(err)
}

// Withdraw removes a job from the queue. The worker that has it learns so by Tell.
func (h *Hub) Withdraw(ctx context.Context, id string) error {
	s, err := h.c.js.Stream(ctx, workStream)
	if err != nil {
		return Explain(err)
	}
	m, err := s.GetLastMsgForSubject(ctx, workSubject(id))
	if err == nil {
		err = s.DeleteMsg(ctx, m.Sequence)
	}
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		err = nil
	}
	return Explain(err)
}

// Result returns the result of a job, nil if there is none yet.
func (h *Hub) Result(ctx context.Context, id string) ([]byte, error) {
	return h.c.last(ctx, resultSubject(id))
}

// Part returns a part of the files that worker number try has sent, nil if the server has lost it.
func (h *Hub) Part(ctx context.Context, id string, try, n int) ([]byte, error) {
	return h.c.last(ctx, partSubject(id, try, n))
}

// last returns the last message of a subject of the results.
func (c *Conn) last(ctx context.Context, subject string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	m, err := c.nc.RequestWithContext(ctx, "$JS.API.DIRECT.GET."+resultStream+"."+subject, nil)
	if err != nil {
		return nil, Explain(err)
	}
	switch m.Header.Get("Status") {
	case "":
		return m.Data, nil
	case "404":
		return nil, nil
	}
	return nil, fmt.Errorf("read %s: %s %s", subject, m.Header.Get("Status"), m.Header.Get("Description"))
}

// Tell sends data to the worker with a key, which has the job, and reports whether it has received it.
func (h *Hub) Tell(ctx context.Context, key, id string, data []byte) bool {
	ctx, cancel := context.WithTimeout(ctx, 400*time.Millisecond)
	defer cancel()
	_, err := h.c.nc.RequestWithContext(ctx, downSubject(key, id), data)
	return err == nil
}

// Hear calls fn with what the workers of a job say, each with its key and the number of its try, until
// stop.
func (h *Hub) Hear(id string, fn func(key string, try int, data []byte)) (stop func(), err error) {
	sub, err := h.c.nc.Subscribe(upSubject("*", id), func(m *nats.Msg) {
		try, err := strconv.Atoi(m.Header.Get("Tri-Try"))
		if parts := strings.Split(m.Subject, "."); err == nil && len(parts) == 4 {
			fn(parts[2], try, m.Data)
		}
	})
	if err != nil {
		return nil, err
	}
	return func() { _ = sub.Unsubscribe() }, h.c.nc.FlushTimeout(3 * time.Second)
}

// Job is a job in a worker's hands.
type Job struct {
	ID   string
	Data []byte
	Try  int // set by Begin

	c     *Conn
	m     jetstream.Msg
	parts int
}

// Take waits for a job, at most some seconds: nil if there was none.
func (c *Conn) Take(ctx context.Context) (*Job, error) {
	cons, err := c.js.Consumer(ctx, workStream, workers)
	if errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrConsumerNotFound) {
		return nil, errors.New("there is no queue yet: the hub's first run makes it")
	}
	if err != nil {
		return nil, Explain(err)
	}
	// One at a time: jobs fetched ahead would lose their lease before they begin.
	batch, err := cons.Fetch(1, jetstream.FetchMaxWait(5*time.Second))
	if err != nil {
		return nil, Explain(err)
	}
	for m := range batch.Messages() {
		id := strings.TrimPrefix(m.Subject(), workSubject(""))
		return &Job{ID: id, Data: m.Data(), c: c, m: m}, nil
	}
	return nil, Explain(batch.Error())
}

// Begin says that the job is about to run. It fails with ErrTwice if two workers began the job and ended
// without a word: neither with a result nor with Cancel.
func (j *Job) Begin(ctx context.Context) error {
	ended, err := j.has(ctx, resultSubject(j.ID))
	if err != nil {
		return err
	}
	if ended {
		return ErrDone
	}
	j.Try, err = try(func(n int) (bool, error) {
		_, err := j.c.js.Publish(ctx, startSubject(j.ID, n), nil,
			jetstream.WithExpectLastSequencePerSubject(0))
		if isWrongSequence(err) {
			return false, nil
		}
		if err != nil { // it may count as begun: that is not a death, and the next try has another number
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			if lost := j.store(ctx, startSubject(j.ID, n)+canceled, nil); !errors.Is(lost, ErrDone) {
				err = errors.Join(err, lost)
			}
			return false, Explain(err)
		}
		return err == nil, Explain(err)
	}, func(n int) (bool, error) { return j.has(ctx, startSubject(j.ID, n)+canceled) })
	return err
}

// try returns the number of the first try that begins now, of which claim reports whether it does.
func try(claim, canceled func(n int) (bool, error)) (int, error) {
	for n, dead := 1, 0; ; n++ {
		if mine, err := claim(n); mine || err != nil {
			return n, err
		}
		ended, err := canceled(n)
		if err != nil {
			return 0, err
		}
		if !ended {
			dead++
		}
		if dead == 2 {
			return 0, ErrTwice
		}
	}
}

const canceled = "-canceled" // of a try, behind its subject

func startSubject(id string, n int) string { return "tri.start." + id + "." + strconv.Itoa(n) }

// Cancel says that this try ended because the hub no longer wants it.
func (j *Job) Cancel(ctx context.Context) error {
	return j.store(ctx, startSubject(j.ID, j.Try)+canceled, nil)
}

// has reports whether a subject has a message. A worker may not read results: it offers one that the server
// refuses for its place, and reads the place from the refusal.
func (j *Job) has(ctx context.Context, subject string) (bool, error) {
	_, err := j.c.js.Publish(ctx, subject, nil, jetstream.WithExpectLastSequencePerSubject(1<<60))
	if !isWrongSequence(err) {
		return false, errors.Join(Explain(err), errors.New("look for a result: no answer"))
	}
	return !strings.HasSuffix(err.Error(), "sequence: 0"), nil
}

// Renew keeps the job for another lease.
func (j *Job) Renew() error { return j.m.InProgress() }

// Release gives the job back, for another worker, after a time.
func (j *Job) Release(after time.Duration) error { return j.m.NakWithDelay(after) }

// Deliveries counts how often the job was handed out.
func (j *Job) Deliveries() int {
	md, err := j.m.Metadata()
	if err != nil {
		return 1
	}
	return int(md.NumDelivered)
}

// Done removes the job from the queue.
func (j *Job) Done(ctx context.Context) error { return j.m.DoubleAck(ctx) }

// Say sends data to the hub, if it listens.
func (j *Job) Say(data []byte) error {
	m := nats.NewMsg(upSubject(j.c.key, j.ID))
	m.Header.Set("Tri-Try", strconv.Itoa(j.Try))
	m.Data = data
	return j.c.nc.PublishMsg(m)
}

// Told calls fn with what the hub says, until stop.
func (j *Job) Told(fn func(data []byte)) (stop func(), err error) {
	sub, err := j.c.nc.Subscribe(downSubject(j.c.key, j.ID), func(m *nats.Msg) {
		fn(m.Data)
		_ = m.Respond(nil)
	})
	if err != nil {
		return nil, err
	}
	return func() { _ = sub.Unsubscribe() }, j.c.nc.FlushTimeout(3 * time.Second)
}

func partSubject(id string, try, n int) string {
	return fmt.Sprintf("tri.part.%s.%d-%d", id, try, n)
}

// Put stores a part of a file.
func (j *Job) Put(ctx context.Context, data []byte) error {
	j.parts++
	return j.store(ctx, partSubject(j.ID, j.Try, j.parts), data)
}

// Finish stores the result; ErrDone if another worker has stored one, which counts.
func (j *Job) Finish(ctx context.Context, data []byte) error {
	return j.store(ctx, resultSubject(j.ID), data)
}

// store publishes to a subject that has no message yet, until the server takes it or ctx ends.
func (j *Job) store(ctx context.Context, subject string, data []byte) error {
	return insist(ctx, func(ctx context.Context) error {
		_, err := j.c.js.Publish(ctx, subject, data, jetstream.WithExpectLastSequencePerSubject(0))
		return err
	})
}

func insist(ctx context.Context, publish func(context.Context) error) error {
	for tries := 0; ; tries++ {
		// The client waits for an answer as long as ctx lasts; one that a cut connection lost never comes.
		once, cancel := context.WithTimeout(ctx, answer)
		err := publish(once)
		cancel()
		switch {
		case isWrongSequence(err) && tries > 0:
			return nil // the first try was stored, and its answer lost; or another's, which is as good
		case isWrongSequence(err):
			return ErrDone
		case err == nil:
			return nil
		}
		if !pause(ctx, 200*time.Millisecond) {
			return errors.Join(Explain(err), ctx.Err())
		}
	}
}

// Answer answers the question who works with the text that fn returns, until stop.
func (c *Conn) Answer(fn func() []byte) (stop func(), err error) {
	sub, err := c.nc.Subscribe(whoSubject, func(m *nats.Msg) { _ = m.Respond(fn()) })
	if err != nil {
		return nil, err
	}
	return func() { _ = sub.Unsubscribe() }, nil
}

// Who returns what the workers answer within a time.
func (c *Conn) Who(ctx context.Context, within time.Duration) (all [][]byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	inbox := c.nc.NewInbox()
	sub, err := c.nc.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer sub.Unsubscribe() //nolint:errcheck // as in once
	if err := c.nc.PublishRequest(whoSubject, inbox, nil); err != nil {
		return nil, err
	}
	for {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return all, nil //nolint:nilerr // the time is over
		}
		if m.Header.Get("Status") == "" {
			all = append(all, m.Data)
		}
	}
}

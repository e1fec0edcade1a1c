package fsck

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"tri/lib/base/durable"
	"tri/lib/base/shape"
)

// made is a log of events and those derived from it, as lines.
func made(rng *rand.Rand) (events, threaded, classified [][]byte) {
	at := 0
	for i := range 40 {
		head := fmt.Sprintf(`{"seq":%d,"platform":"local","chat_id":"dev","chat_name":"dev","message_id":"%d","create_time":"2026-03-02T10:00:00Z","msg_type":"text","content":"why %d \"?\""`, at, i, rng.Uint64())
		tail := `,"sender":{"id":"ben","type":"user"},"mentions":[]`
		line := head + `,"thread_id":null` + tail
		events = append(events, []byte(line+"}\n"))
		at += len(line) + 2
		if rng.IntN(2) == 0 {
			line = head + `,"thread_id":"1"` + tail + `,"thread_inferred":"why"`
		}
		threaded = append(threaded, []byte(line+"}\n"))
		classified = append(classified, []byte(line+`,"is_bot_mention":false,"is_question":true,"is_ack_or_emoji":false,"is_internal_chatter":false,"mentions_thread_with_inflight":false,"classification":"actionable","classifier_confidence":0.9,"classifier_version":"v","classified_at":"2026-03-02T10:00:00Z","reasons":["mention:bot"]}`+"\n"))
	}
	return events, threaded, classified
}

// spoil makes some lines of a log be wrong, or stand elsewhere.
func spoil(rng *rand.Rand, log [][]byte) []byte {
	for range rng.IntN(12) {
		i, k := rng.IntN(len(log)), rng.IntN(len(log))
		line := bytes.Clone(log[i])
		if len(line) == 0 {
			continue
		}
		switch rng.IntN(7) {
		case 0:
			log[i] = nil
		case 1:
			log[i], log[k] = log[k], log[i]
		case 2:
			log[i] = append(line, line...)
		case 3:
			line[rng.IntN(len(line))] ^= 1 << rng.IntN(8)
			log[i] = line
		case 4:
			log[i] = bytes.Replace(line, []byte(`"local"`), []byte(`""`), 1)
		case 5:
			log[i] = bytes.Replace(line, []byte(`}`+"\n"), []byte(`,"seq":1}`+"\n"), 1)
		default:
			log[i] = bytes.TrimSuffix(line, []byte("\n"))
		}
	}
	return bytes.Join(log, nil)
}

// alone checks a log without looking at another.
func alone(t *testing.T, h *durable.Home, name, schema string) Finding {
	s, err := shape.Load(schema)
	if err != nil {
		t.Fatal(err)
	}
	f := Finding{What: name}
	c := lineChecker{shape: s, f: &f}
	f.Torn, err = lines(h, name, 0, -1, func(l line) {
		err := c.check(l, nil)
		if err == nil && name == eventsLog {
			err = stands(c.scan.Members, l.at)
		}
		c.note(l, err)
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestSideBySide: read beside the log of events, or by itself, a log is found to be
// the same.
func TestSideBySide(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	bad := 0
	for range 25 {
		h, err := durable.Open(filepath.Join(t.TempDir(), "home"))
		if err != nil {
			t.Fatal(err)
		}
		events, threaded, classified := made(rng)
		for _, log := range []struct {
			name  string
			lines [][]byte
		}{{eventsLog, events}, {derivedLogs[0].name, threaded}, {derivedLogs[1].name, classified}} {
			if rng.IntN(12) > 0 {
				err = errors.Join(err, os.WriteFile(filepath.Join(h.Dir(), log.name), spoil(rng, log.lines), 0o600))
			}
		}
		var j jobs
		if err = errors.Join(err, streams(&j, h), j.run()); err != nil {
			t.Fatal(err)
		}
		want := merge([]*Finding{new(alone(t, h, eventsLog, "event")), new(alone(t, h, derivedLogs[0].name, "event")), new(alone(t, h, derivedLogs[1].name, "classified-event"))})
		if got := merge(j.findings); !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v\nwant %+v", got, want)
		}
		for _, f := range want {
			bad += f.Bad
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if bad < 50 {
		t.Errorf("%d lines were wrong: this tests little", bad)
	}
}

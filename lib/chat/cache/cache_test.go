package cache

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

func TestAsk(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	m := Map[string]{Life: time.Hour, Now: func() time.Time { return now }}
	asked := 0
	ask := func() (string, error) { asked++; return fmt.Sprint("answer ", asked), nil }
	for i, step := range []struct {
		do   func()
		want string
	}{
		{func() {}, "answer 1"},
		{func() { now = now.Add(time.Hour - 1) }, "answer 1"},
		{func() { now = now.Add(1) }, "answer 2"},
		{func() { m.Forget("x") }, "answer 3"},
		{func() { m.Forget("y") }, "answer 3"},
	} {
		step.do()
		if got, err := m.Ask("x", ask); err != nil || got != step.want {
			t.Errorf("%d: %q, %v", i, got, err)
		}
	}
	if _, err := m.Ask("z", func() (string, error) { return "", errors.New("not now") }); err == nil {
		t.Error("no error")
	}
	if _, ok := m.Get("z"); ok {
		t.Error("an error is remembered")
	}
}

func TestBound(t *testing.T) {
	var m Map[int]
	for i := range max + 1 {
		m.Put(fmt.Sprint(i), i)
	}
	if _, ok := m.Get("0"); ok || len(m.by) != 1 {
		t.Errorf("%d entries", len(m.by))
	}
	if got, ok := m.Get(fmt.Sprint(max)); !ok || got != max {
		t.Error("the newest is forgotten")
	}
}

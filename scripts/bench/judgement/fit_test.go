package main

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// TestNewRooms: each run of labelled messages is a room, with the messages before it.
func TestNewRooms(t *testing.T) {
	var in strings.Builder
	labels := map[string]label{}
	for i := range 20 {
		fmt.Fprintf(&in, `{"chat_id":"c","message_id":"%d"}`+"\n", i)
	}
	for _, id := range []string{"1", "2", "5", "12", "19"} {
		labels[id] = label{id: id}
	}
	got, err := newRooms(fitRoom{name: "r", messages: []byte(in.String()), labels: labels}, 3)
	if err != nil {
		t.Fatal(err)
	}
	var rooms []string
	for _, line := range strings.Split(strings.TrimSpace(string(got.messages)), "\n") {
		bare := strings.NewReplacer(`{"chat_id":"`, "", `","message_id":"`, ":", `"}`, "")
		rooms = append(rooms, bare.Replace(line))
	}
	want := "1:0 1:1 1:2 1:3 1:4 1:5 2:9 2:10 2:11 2:12 3:16 3:17 3:18 3:19"
	if s := strings.Join(rooms, " "); s != want {
		t.Errorf("%s, want %s", s, want)
	}
}

// TestFitWeights: a value of what is wanted weighs for it, one of the rest against it, a rare one not at all;
// a ridge makes weights smaller, and the same rows give the same weights.
func TestFitWeights(t *testing.T) {
	var s rows
	for i := range 40 {
		on := []uint32{uint32(i % 2), 2}
		if i < 4 {
			on = append(on, 3)
		}
		s.add(fitRoom{community: "elm"}, on, i%2 == 0)
	}
	ridge := func(x float64) func(uint32) float64 { return func(uint32) float64 { return x } }
	w, flat := s.fit(ridge(1)), s.fit(ridge(50))
	if w.by[0] <= 0.5 || w.by[1] >= -0.5 || w.by[3] != 0 || flat.by[0] >= w.by[0]/2 {
		t.Errorf("%v, with a larger ridge %v", w, flat)
	}
	if again := s.fit(ridge(1)); !reflect.DeepEqual(again, w) {
		t.Errorf("%v, then %v", w, again)
	}
	if s.much[0] != slackMuch {
		t.Errorf("a message of Slack counts %v", s.much[0])
	}
}

package classify

import (
	"fmt"
	"testing"
)

// TestTable: numbers that lead to one place, many of them, and none after forget.
func TestTable(t *testing.T) {
	var m table[int]
	if _, ok := m.get(7); ok {
		t.Error("an empty table has 7")
	}
	for round := range 2 {
		for i := range 1000 {
			m.put(uint64(i)<<32|3, i)
			m.put(uint64(i)<<32|3, i+round)
		}
		m.put(0, -1)
		for i := range 1000 {
			if v, ok := m.get(uint64(i)<<32 | 3); !ok || v != i+round {
				t.Fatalf("%d: got %d, %t", i, v, ok)
			}
		}
		if v, ok := m.get(0); !ok || v != -1 || m.used != 1001 {
			t.Errorf("got %d, %t; %d are used", v, ok, m.used)
		}
		if _, ok := m.get(4); ok {
			t.Error("it has 4")
		}
		m.forget()
		if _, ok := m.get(3); ok || m.used != 0 {
			t.Error("it did not forget")
		}
	}
}

// TestDictionary: any number of words with the same last letters are distinguished.
func TestDictionary(t *testing.T) {
	d := newDictionary(1)
	words := []string{"figuring", "configuring", "prefiguring", "uring", "a", "à", "日本語", "x-figuring"}
	for i := range 3000 {
		words = append(words, fmt.Sprint(i, "behind"))
	}
	for i, w := range words {
		if id := d.find(spelled(w), []byte(w)); id != unknown {
			t.Fatalf("%q is %d before it is there", w, id)
		}
		if id := d.add(w, spelled(w)); int(id) != i+2 {
			t.Fatalf("%q got %d", w, id)
		}
	}
	for i, w := range words {
		if id := d.find(spelled(w), []byte(w)); int(id) != i+2 {
			t.Errorf("%q is %d, want %d", w, id, i+2)
		}
	}
	for _, w := range []string{"", "*", "ring", "reconfiguring", "b"} {
		if id := d.find(spelled(w), []byte(w)); id != unknown {
			t.Errorf("%q is %d", w, id)
		}
	}
}

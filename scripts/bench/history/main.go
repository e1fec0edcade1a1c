// History writes a home as a team leaves it after some months: every log, every
// thread and every post, consistent with each other, the same for the same seed.
// The reports are measured on it (scripts/bench/run reports). Nothing in it was
// said by anybody.
//
//	history -home DIR [-days 90] [-events 200000] [-threads 5000] [-seed 1] [-end 2026-11-20T15:00:00Z]
package main

import (
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"time"
)

func main() {
	log.SetFlags(0)
	var o order
	home := flag.String("home", "", "write into `DIR`, which must be empty or not there")
	flag.IntVar(&o.days, "days", 90, "so many days")
	flag.IntVar(&o.events, "events", 200_000, "so many messages")
	flag.IntVar(&o.threads, "threads", 5_000, "so many questions")
	seed := flag.Uint64("seed", 1, "by `N`")
	end := flag.String("end", "2026-11-20T15:00:00Z", "until `TIME`")
	flag.Parse()
	at, err := time.Parse(time.RFC3339, *end)
	if err != nil {
		log.Fatal("history: ", err)
	}
	if left, err := os.ReadDir(*home); *home == "" || err == nil && len(left) > 0 {
		log.Fatalf("history: %q is not an empty folder", *home)
	}
	o.end, o.rng = at, rand.New(rand.NewPCG(*seed, 7))
	t := live(o)
	if err := t.write(*home); err != nil {
		log.Fatal("history: ", err)
	}
	fmt.Println(t.sums())
}

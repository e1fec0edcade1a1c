// Package examples holds what the demo shows, so that it needs no checkout: a
// team's week of chat as a chat platform exports it, and a day in a small room
// where people ask about this very code. All of it is written for the purpose.
package examples

import "embed"

// Files are the folders week and demo. week is a Slack export: users.json,
// channels.json, and a file for each room and day. demo/dev.ndjson has one
// message a line: who, and what.
//
//go:embed week demo
var Files embed.FS

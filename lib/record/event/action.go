package event

// Action is one line of actions.ndjson: a click on a button of one of the bot's cards, or a
// reaction to one of its messages. It is not yet a decision: the reader checks whether the sender
// may decide.
type Action struct {
	ID        string `json:"id"` // the platform's id of the click or reaction: the same at every delivery
	Platform  string `json:"platform"`
	ChatID    string `json:"chat_id"`
	MessageID string `json:"message_id"` // of the card or message
	At        string `json:"at"`         // RFC 3339 in UTC
	Sender    Sender `json:"sender"`     // who did it
	Name      string `json:"name"`       // of the button: approve, dismiss, …; or the emoji of a reaction
	Value     string `json:"value"`      // the button's value; "" for a reaction
	Removed   bool   `json:"removed,omitempty"`
}

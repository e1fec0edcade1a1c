package longrun

import "golang.org/x/sys/unix"

// noFollow keeps a transcript from being written where a link leads.
const noFollow = unix.O_NOFOLLOW

package toy

import "errors"

func startDaemon(string) error { return errors.New("-daemon: not on windows") }

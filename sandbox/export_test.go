package sandbox

// Loss returns how the session ended, nil while it has not.
func (s *Session) Loss() *Loss {
	select {
	case <-s.gone:
		return s.loss()
	default:
		return nil
	}
}

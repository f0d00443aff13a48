package reaper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

// A Keeper is a reaper as the bridge sees it.
type Keeper struct {
	Socket string // of the engine
	Dir    string // the folder that the reaper removes in the end

	process *os.Process
	orders  io.WriteCloser
	ended   chan struct{}
	once    sync.Once
}

// Start starts a reaper with orders and an environment, and returns when it has
// begun. The context bounds the start only.
func Start(ctx context.Context, o Orders, env []string) (*Keeper, error) {
	exe := "/proc/self/exe" // is there even when the file was replaced
	if runtime.GOOS != "linux" {
		var err error
		if exe, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	cmd := &exec.Cmd{Path: exe, Args: []string{Name}, Env: env, Dir: "/", SysProcAttr: apart()}
	orders, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	status, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the process that removes what a killed bridge leaves: %w", err)
	}
	k := &Keeper{process: cmd.Process, orders: orders, ended: make(chan struct{})}
	// It takes back itself what it has begun, if it can.
	stop := context.AfterFunc(ctx, func() {
		io.WriteString(orders, done)
		orders.Close()
		select {
		case <-k.ended:
		case <-time.After(2 * going):
			k.process.Kill()
		}
	})
	var a answer
	if err = json.NewEncoder(orders).Encode(o); err == nil {
		err = json.NewDecoder(status).Decode(&a)
	}
	go func() {
		defer close(k.ended)
		cmd.Wait()
	}()
	if stop() && err == nil && a.Error == "" {
		k.Socket, k.Dir = a.Socket, a.Dir
		return k, nil
	}
	k.Close()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if a.Error != "" {
		return nil, errors.New(a.Error)
	}
	return nil, fmt.Errorf("the process that removes what a killed bridge leaves ended at once: %w", err)
}

// Ended tells whether the process has ended by itself, or was killed.
func (k *Keeper) Ended() bool {
	select {
	case <-k.ended:
		return true
	default:
		return false
	}
}

// Close ends the process, which removes nothing, and the service that it may
// have started.
func (k *Keeper) Close() {
	k.once.Do(func() {
		io.WriteString(k.orders, done)
		k.orders.Close()
		<-k.ended
		if k.Dir != "" {
			os.RemoveAll(k.Dir) // which one that was killed has left
		}
	})
}

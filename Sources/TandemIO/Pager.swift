import Glibc

/// A program such as `less` between this process's standard output and the terminal.
///
/// While it runs an interrupt from the keyboard is its business, so this process ignores it; when its reader leaves,
/// ``StandardStream/isClosed`` says so.
public final class Pager {
    private let child: ChildProcess

    /// Starts a pager by a line for the shell, and leads standard output to it.
    ///
    /// Throws when it can't be started; standard output is then as it was.
    public init(_ command: String) throws(IOError) {
        child = try ChildProcess.start("/bin/sh", ["-c", command], input: .pipe)
        guard let input = child.input else { return }
        try check(.startProcess, command) { dup2(input, STDOUT_FILENO) }
        child.closeInput()
        _ = signal(SIGINT, SIG_IGN)
    }

    /// Says that there is no more, and waits until its reader has left.
    public func finish() {
        let nothing = open("/dev/null", O_WRONLY | O_CLOEXEC)
        if nothing >= 0 {
            dup2(nothing, STDOUT_FILENO)
            _ = close(nothing)
        } else {
            _ = close(STDOUT_FILENO)
        }
        child.wait()
    }
}

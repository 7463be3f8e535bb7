import Glibc

/// A program such as `less` that shows this process's standard output.
///
/// While the pager runs, this process ignores keyboard interrupts and leaves them to the pager.
/// After the user quits the pager, ``StandardStream/isClosed`` is true.
public final class Pager {
    private let child: ChildProcess

    /// Starts a pager by a shell command, and redirects standard output to it.
    ///
    /// Throws if the pager can't be started; standard output is then unchanged.
    public init(_ command: String) throws(IOError) {
        child = try ChildProcess.start("/bin/sh", ["-c", command], input: .pipe)
        guard let input = child.input else { return }
        try check(.startProcess, command) { dup2(input, STDOUT_FILENO) }
        child.closeInput()
        _ = signal(SIGINT, SIG_IGN)
    }

    /// Ends the pager's input, and waits until the user has quit the pager.
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

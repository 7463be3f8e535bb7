import Glibc

/// A process that runs this program in another role, with pipes for its standard input and output.
final class BenchProcess {
    private let processID: pid_t
    private let pipeEnd: Int32
    private var inputEnd: Int32

    /// Starts the process with the given arguments.
    init(_ arguments: [String]) throws {
        let (output, input) = (try Self.pipeEnds(), try Self.pipeEnds())
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, output.write, STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, input.read, STDIN_FILENO)
        let words = ["tandembench"] + arguments
        var argv: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { for word in argv { free(word) } }
        var child = pid_t()
        let status = posix_spawn(&child, "/proc/self/exe", &actions, nil, &argv, environ)
        close(output.write)
        close(input.read)
        processID = child
        pipeEnd = output.read
        inputEnd = input.write
        guard status == 0 else { throw Failure("\(words[1]) can't be started: \(status)") }
    }

    /// Kills the process if it has not been waited for.
    deinit {
        if kill(processID, SIGKILL) == 0 { waitpid(processID, nil, 0) }
        close(pipeEnd)
        closeInput()
    }

    private static func pipeEnds() throws -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw Failure("no pipe: errno \(errno)") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    /// Sends a signal.
    func signal(_ number: Int32) { kill(processID, number) }

    /// Closes the process's standard input.
    func closeInput() {
        if inputEnd >= 0 { close(inputEnd) }
        inputEnd = -1
    }

    /// Reads a number of values; throws if the process ends, or makes no progress for a minute.
    func read<Value: BitwiseCopyable>(_ count: Int, _ zero: Value) throws -> [Value] {
        var values = [Value](repeating: zero, count: count)
        try values.withUnsafeMutableBytes { bytes in
            var done = 0
            while done < bytes.count {
                var waiting = pollfd(fd: pipeEnd, events: Int16(POLLIN), revents: 0)
                let isThere = poll(&waiting, 1, Self.timeoutMilliseconds) == 1
                let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[done...])
                let got = isThere ? Glibc.read(pipeEnd, rest.baseAddress, rest.count) : -1
                guard got > 0 else { throw Failure("a process ended before its task did") }
                done += got
            }
        }
        return values
    }

    private static let timeoutMilliseconds: Int32 = 60_000

    /// Waits until the process has ended; throws unless it succeeded.
    func finish() throws {
        var status: Int32 = 0
        guard waitpid(processID, &status, 0) == processID else {
            throw Failure("a process can't be waited for: errno \(errno)")
        }
        guard status == 0 else { throw Failure("a process failed with status \(status)") }
    }
}

/// Writes the bytes of values to standard output, the pipe to the parent process.
func send<Value: BitwiseCopyable>(_ values: [Value]) throws {
    try values.withUnsafeBytes { bytes in
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = write(
                STDOUT_FILENO, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            guard count > 0 else { throw Failure("the parent of this process has exited") }
            rest = rest.dropFirst(count)
        }
    }
}

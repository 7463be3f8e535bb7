import Glibc

/// What a process says when a file that it has mapped can't be read (SIGBUS): the file was cut off, or its disk failed.
///
/// The kernel lets no call fail for that: without this the process would end with a crash that names no file.
public enum BusErrors {
    /// Ends the process with `code` after `line` on standard error, from the next bus error on.
    public static func end(with code: Int32, saying line: String) {
        let bytes = Array((line + "\n").utf8)
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
        room.copyBytes(from: bytes)
        lastWords = (UnsafeRawBufferPointer(room), code)
        _ = signal(SIGBUS) { _ in
            let (line, code) = lastWords
            _ = write(2, line.baseAddress, line.count)
            _exit(code)
        }
    }
}

// Set by the main thread before the handler is installed, which only reads it.
nonisolated(unsafe) private var lastWords: (line: UnsafeRawBufferPointer, code: Int32) = (
    UnsafeRawBufferPointer(start: nil, count: 0), 0
)

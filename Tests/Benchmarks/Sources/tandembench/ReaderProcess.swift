/// A reader's message to the writer: the position that its list has reached, and the time at which
/// it did.
struct Acknowledgement: BitwiseCopyable {
    var position: UInt64
    var at: UInt64

    /// Writes the acknowledgement to standard output, the pipe to the writer.
    func send() throws { try tandembench.send([self]) }
}

extension BenchProcess {
    /// Returns the time at which the reader's list reached a position or a later one.
    func wait(for position: UInt64) throws -> UInt64 {
        while true {
            let found = try read(1, Acknowledgement(position: 0, at: 0))[0]
            if found.position >= position { return found.at }
        }
    }
}

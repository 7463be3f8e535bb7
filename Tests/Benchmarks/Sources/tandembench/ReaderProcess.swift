/// What a reader tells the writer: its list stands at a position, since when.
struct Acknowledgement: BitwiseCopyable {
    var position: UInt64
    var at: UInt64

    /// Writes it to standard output, the pipe to the writer.
    func send() throws { try tandembench.send([self]) }
}

extension BenchProcess {
    /// The time at which the reader's list first stood at a position or after it.
    func wait(for position: UInt64) throws -> UInt64 {
        while true {
            let found = try read(1, Acknowledgement(position: 0, at: 0))[0]
            if found.position >= position { return found.at }
        }
    }
}

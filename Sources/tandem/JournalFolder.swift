import Tandem
import TandemIO
import TandemJournal
import TandemStore

/// The segments of a journal's directory, as whoever copies or replays it needs them.
struct JournalFolder {
    let path: String
    private let files = RealFileSystem()

    init(_ path: String) { self.path = path }

    /// The names of the segments with their first positions, oldest first.
    func segments() throws -> [(first: UInt64, name: String)] {
        guard files.exists(path) else { return [] }
        return try files.list(path).compactMap { name in
            guard name.hasSuffix(".journal"),
                let first = UInt64(name.dropLast(".journal".count), radix: 16)
            else { return nil }
            return (first, name)
        }.sorted { $0.first < $1.first }
    }

    /// Copies the segments that go on behind a position, up to what is written, and reads them once.
    ///
    /// Returns the last position in them. A batch that the daemon was writing may be torn in the copy, as after a power
    /// cut; opening it cuts that off.
    func copyTail(after position: UInt64, to folder: String) throws -> UInt64 {
        let segments = try segments()
        guard let start = segments.lastIndex(where: { $0.first <= position + 1 }) else {
            throw CommandFailure(
                "the journal in \(path) no longer reaches back to position \(position + 1); "
                    + "run it again")
        }
        for (_, name) in segments[start...] {
            // What is written later than this is not copied, so no hole is before what is.
            let end = try FileCopy.contentEnd(of: "\(path)/\(name)", files)
            let header: UInt64 = 4_096
            try FileCopy.copy(
                "\(path)/\(name)", to: "\(folder)/\(name)", bytes: max(end, header), files)
        }
        return try JournalFolder(folder).lastPosition(after: position)
    }

    /// Reads everything behind a position; a gap is refused.
    private func lastPosition(after position: UInt64) throws -> UInt64 {
        let reader = JournalReader(directory: path, fileSystem: files, from: position + 1)
        while let item = try reader.next() {
            guard case .gap(let gap) = item else { continue }
            throw CommandFailure(
                "the journal is damaged: \(gap.path) offset \(gap.offset): \(gap.reason); "
                    + "run `tandem log -D` to see what is left")
        }
        return reader.position - 1
    }

    /// Opens the journal for writing, as the daemon does; it has to be there.
    func open(appliedPosition: UInt64?, segmentBytes: Int? = nil) throws -> Journal {
        guard try !segments().isEmpty else {
            throw CommandFailure(
                "there is no journal in \(path); -D takes the directory of a store, and "
                    + "`tandem restore` brings a backup back")
        }
        var options = JournalOptions()
        if let segmentBytes { options.segmentBytes = segmentBytes }
        return try Journal.open(
            directory: path, fileSystem: files, options: options,
            identityIfNew: LogIdentity(high: 0, low: 0), appliedPosition: appliedPosition
        ).journal
    }
}

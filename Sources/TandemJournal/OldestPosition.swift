package import TandemIO

/// A note of the oldest position that trimming has left, in a file beside the segments.
///
/// A journal that begins later has lost segments to something else than trimming. The note is an aid, and no part of the log: a log
/// without it is as good, so what can't be written is removed.
package struct OldestPosition {
    private let path: String
    private let directory: String
    private let fileSystem: any FileSystem

    /// The note of the journal in a directory.
    package init(_ directory: String, _ fileSystem: any FileSystem) {
        self.directory = directory
        self.fileSystem = fileSystem
        path = directory + "/" + JournalDirectory.oldestName
    }

    /// The position that was recorded; nil if there is none.
    package var recorded: UInt64? {
        guard fileSystem.exists(path),
            let bytes = try? fileSystem.contents(of: path, maximumBytes: 64)
        else { return nil }
        return UInt64(String(decoding: bytes, as: UTF8.self).prefix { $0 != "\n" })
    }

    /// The positions that a journal with an oldest position should have and has not, and what to do about it; nil if there are none.
    package func missing(before first: UInt64) -> (positions: ClosedRange<UInt64>, message: String)?
    {
        guard let recorded, recorded > 0, recorded < first else { return nil }
        return (
            recorded...first - 1,
            "positions \(recorded) to \(first - 1) are missing: segments were removed by something else than "
                + "retention or `tandem vacuum`; bring them back, or remove \(path) to accept it"
        )
    }

    /// Records a position before anything below it is removed; durable on return.
    func record(_ position: UInt64) {
        let draft = path + ".new"
        do throws(IOError) {
            if fileSystem.exists(draft) { try fileSystem.remove(draft) }
            let file = try fileSystem.open(draft, .createNew)
            defer { file.close() }
            try file.write(Array("\(position)\n".utf8), at: 0)
            try file.sync()
            try fileSystem.rename(draft, to: path)
            try fileSystem.syncDirectory(directory)
        } catch {
            try? fileSystem.remove(draft)
            try? fileSystem.remove(path)
        }
    }
}

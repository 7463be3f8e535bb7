package import TandemIO

/// A record of the oldest position left by trimming, stored in a file next to the segments.
///
/// If a journal begins at a later position, something other than trimming removed segments. The
/// record is only an aid: a log without it is equally valid, so a record that can't be updated is
/// removed.
package struct OldestPosition {
    private let path: String
    private let directory: String
    private let fileSystem: any FileSystem

    /// Creates an accessor for the record of the journal in a directory.
    package init(_ directory: String, _ fileSystem: any FileSystem) {
        self.directory = directory
        self.fileSystem = fileSystem
        path = directory + "/" + JournalDirectory.oldestName
    }

    /// The recorded position; nil if there is none.
    package var recorded: UInt64? {
        guard fileSystem.exists(path),
            let bytes = try? fileSystem.contents(of: path, maximumBytes: 64)
        else { return nil }
        return UInt64(String(decoding: bytes, as: UTF8.self).prefix { $0 != "\n" })
    }

    /// Returns the missing positions before `first`, and a message with the remedy; nil if none are
    /// missing.
    package func missing(before first: UInt64) -> (positions: ClosedRange<UInt64>, message: String)?
    {
        guard let recorded, recorded > 0, recorded < first else { return nil }
        return (
            recorded...first - 1,
            "positions \(recorded) to \(first - 1) are missing: segments were removed, but not by "
                + "retention or `tandem vacuum`; bring them back, or remove \(path) to accept the loss"
        )
    }

    /// Records a position, durably on return; call it before positions below it are removed.
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

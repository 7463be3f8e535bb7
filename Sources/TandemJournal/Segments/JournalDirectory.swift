import TandemIO

/// The file names in a journal's directory.
enum JournalDirectory {
    /// The suffix of segments.
    static let suffix = ".journal"
    /// The lock file, locked by the writer.
    static let lockName = "lock"
    /// The next segment while it is being filled with zeros.
    static let spareName = "spare.new"
    /// The suffix of copies of cut data; the name begins with the segment's name and the offset.
    static let tornSuffix = ".torn"
    /// The suffix of indexes, in place of the segment's suffix.
    static let indexSuffix = ".index"
    /// An index while it is being written.
    static let newIndexName = "index.new"
    /// The marker of relaxed durability; it stays if the log was not closed.
    static let relaxedName = "relaxed"

    /// The record of the oldest position left by trimming.
    static let oldestName = "oldest"

    /// Returns the name of a segment: "0000000000000001.journal" for 1.
    static func name(of position: UInt64) -> String { hexadecimal(position) + suffix }

    /// Returns the name of a segment's index: "0000000000000001.index" for segment 1.
    static func indexName(of position: UInt64) -> String { hexadecimal(position) + indexSuffix }

    /// Returns the first position in a segment's name, or nil for other names.
    static func position(of name: String) -> UInt64? { position(of: name, suffix: suffix) }

    /// Returns the first position in a name with the given suffix, or nil for other names.
    private static func position(of name: String, suffix: String) -> UInt64? {
        guard name.hasSuffix(suffix) else { return nil }
        let digits = name.dropLast(suffix.count)
        let isPlain = digits.utf8.allSatisfy {
            (0x30...0x39).contains($0) || (0x61...0x66).contains($0)
        }
        guard digits.utf8.count == 16, isPlain else { return nil }
        return UInt64(digits, radix: 16)
    }

    /// Returns the first positions of all segments, in order.
    static func segments(
        in directory: String, _ fileSystem: any FileSystem
    ) throws(JournalError) -> [UInt64] {
        let names = try converting(JournalError.unreadable) { () throws(IOError) in
            try fileSystem.list(directory)
        }
        return names.compactMap(position(of:)).sorted()
    }

    /// Removes indexes whose segments no longer exist, and an unfinished index.
    ///
    /// Errors are ignored: a leftover index is harmless, because a reader compares each index with
    /// its segment.
    static func removeOrphans(in directory: String, _ fileSystem: any FileSystem) {
        guard let names = try? fileSystem.list(directory) else { return }
        let segments = Set(names.compactMap(position(of:)))
        for name in names {
            let first = position(of: name, suffix: indexSuffix)
            let isOrphan = first.map { !segments.contains($0) } ?? false
            if isOrphan || name == newIndexName { try? fileSystem.remove(directory + "/" + name) }
        }
    }

    /// Returns the copies of data cut off a segment, each with the offset of the cut.
    static func tornCopies(
        of first: UInt64, in directory: String, _ fileSystem: any FileSystem
    ) throws(IOError) -> [(offset: UInt64, path: String)] {
        let prefix = name(of: first) + "."
        return try fileSystem.list(directory).compactMap { name in
            guard name.hasPrefix(prefix), name.hasSuffix(tornSuffix) else { return nil }
            guard let offset = UInt64(name.dropFirst(prefix.count).prefix(16), radix: 16) else {
                return nil
            }
            return (offset, directory + "/" + name)
        }
    }

    /// Returns a number as 16 hexadecimal digits.
    static func hexadecimal(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}

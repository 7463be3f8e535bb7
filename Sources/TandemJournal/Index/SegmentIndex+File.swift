import TandemIO

/// The result of looking for a segment's index.
enum FoundIndex {
    case none
    /// The index can't be used, for the reason described by a sentence.
    case unusable(String)
    case usable(SegmentIndex)
}

extension SegmentIndex {
    /// Opens the index of a segment that is sealed by the next one, and compares it with both
    /// headers.
    ///
    /// Reads only three pages.
    static func find(
        _ directory: String, first: UInt64, before next: UInt64, _ fileSystem: any FileSystem
    ) -> FoundIndex {
        let path = directory + "/" + JournalDirectory.indexName(of: first)
        guard fileSystem.exists(path) else { return .none }
        do {
            return .usable(try open(path, directory, first, next, fileSystem))
        } catch let error as IndexDamage {
            return .unusable(error.description)
        } catch {
            return .unusable("\(error)")
        }
    }

    private static func open(
        _ path: String, _ directory: String, _ first: UInt64, _ next: UInt64,
        _ fileSystem: any FileSystem
    ) throws -> SegmentIndex {
        guard let segment = SegmentHeader.read(directory, first: first, fileSystem),
            let following = SegmentHeader.read(directory, first: next, fileSystem)
        else { throw IndexDamage("the headers of the segment and the next one cannot be read") }
        let file = try fileSystem.open(path, .read)
        let header = try IndexHeader(page: try file.read(count: IndexFormat.pageBytes, at: 0))
        guard header.segment == IndexedSegment(segment, before: following) else {
            throw IndexDamage("the index belongs to another segment")
        }
        let bytes = try file.size()
        guard bytes == header.fileBytes else {
            throw IndexDamage("the index has \(bytes) bytes, not \(header.fileBytes)")
        }
        return SegmentIndex(header) { number throws(IndexDamage) in
            do {
                return try file.read(
                    count: IndexFormat.pageBytes, at: (number + 1) * UInt64(IndexFormat.pageBytes))
            } catch {
                throw IndexDamage("\(error)")
            }
        }
    }
}

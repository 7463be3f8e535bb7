package import TandemIO

/// A read-only check of whether the index of a segment is correct.
package struct IndexCheck {
    private let directory: String
    private let fileSystem: any FileSystem

    /// Creates a check for a directory of segments.
    package init(directory: String, fileSystem: any FileSystem) {
        self.directory = directory
        self.fileSystem = fileSystem
    }

    /// Returns the problem found in a segment's index, or nil if there is none.
    ///
    /// The segment begins at `first` and is sealed by the one at `next`. The result is a sentence
    /// without a full stop; it is also nil if the segment has no index.
    ///
    /// Reads every page of the index. With `reading`, the index is also rebuilt and compared, which
    /// reads the whole segment. Nothing is compared if the segment itself is damaged.
    package func problem(
        of first: UInt64, before next: UInt64, comparing reading: PayloadReading? = nil
    ) -> String? {
        switch SegmentIndex.find(directory, first: first, before: next, fileSystem) {
        case .none: return nil
        case .unusable(let problem): return isGone(first) ? nil : problem
        case .usable(let index):
            do throws(IndexDamage) {
                try index.readThrough()
            } catch {
                return error.description
            }
            return reading.flatMap { difference(first, next, index.header, $0) }
        }
    }

    /// Returns the path of a segment's index.
    package func path(of first: UInt64) -> String {
        directory + "/" + JournalDirectory.indexName(of: first)
    }

    private func difference(
        _ first: UInt64, _ next: UInt64, _ header: IndexHeader, _ reading: @escaping PayloadReading
    ) -> String? {
        let maker = SegmentIndexMaker(
            directory: directory, fileSystem: fileSystem, reading: reading)
        let made: [UInt8]
        do throws(JournalError) {
            made = try maker.bytes(of: first, before: next)
        } catch {
            if error.code == .damaged || isGone(first) { return nil }
            return "the segment cannot be read for a comparison: \(error)"
        }
        do throws(IOError) {
            let found = try fileSystem.contents(
                of: path(of: first), maximumBytes: header.fileBytes)
            return made == found
                ? nil : "the index differs from one rebuilt from the segment"
        } catch {
            return isGone(first) ? nil : "the index cannot be read: \(error)"
        }
    }

    /// Whether the segment was removed during the check.
    private func isGone(_ first: UInt64) -> Bool {
        !fileSystem.exists(directory + "/" + JournalDirectory.name(of: first))
    }
}

package import TandemIO

/// Looks whether the index of a segment is what it ought to be; changes nothing.
package struct IndexCheck {
    private let directory: String
    private let fileSystem: any FileSystem

    /// Looks into a directory of segments.
    package init(directory: String, fileSystem: any FileSystem) {
        self.directory = directory
        self.fileSystem = fileSystem
    }

    /// What is wrong with the index of the segment that begins at a position and is sealed by the one at another, as a sentence
    /// without its end; nil for nothing, and where there is no index.
    ///
    /// Reads every page of the index. With `reading` it is made once more and compared, which reads the segment through; where the
    /// segment itself is damaged nothing is compared.
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

    /// The path of a segment's index.
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
            return "the segment can't be read to compare it: \(error)"
        }
        do throws(IOError) {
            let found = try fileSystem.contents(
                of: path(of: first), maximumBytes: header.fileBytes)
            return made == found ? nil : "it is another than the segment makes"
        } catch {
            return isGone(first) ? nil : "it can't be read: \(error)"
        }
    }

    /// Whether the segment was given up while it was looked at.
    private func isGone(_ first: UInt64) -> Bool {
        !fileSystem.exists(directory + "/" + JournalDirectory.name(of: first))
    }
}

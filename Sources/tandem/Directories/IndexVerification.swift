import Tandem
import TandemIO
import TandemJournal

/// Compares the indexes of a journal with their segments.
struct IndexVerification {
    let folder: JournalFolder

    /// Returns the problems of all indexes; if `isDeep`, compares each index with a rebuilt one.
    func problems(isDeep: Bool) throws -> [VerifyProblem] {
        let check = IndexCheck(directory: folder.path, fileSystem: RealFileSystem())
        let segments = try mapped { try folder.segments() }.map(\.first)
        return zip(segments, segments.dropFirst()).compactMap { first, next in
            let problem = check.problem(
                of: first, before: next, comparing: isDeep ? PayloadKeys.ofTransaction : nil)
            return problem.map { problem in
                VerifyProblem(
                    kind: .index, path: check.path(of: first), positions: first...(next - 1),
                    message:
                        "\(problem); remove the file, and the daemon rebuilds the index when it starts"
                )
            }
        }
    }
}

extension PayloadKeys {
    /// Computes the index keys of a transaction as the daemon does.
    static let ofTransaction: PayloadReading = { payload in
        EncodedTransaction.touched(by: payload).map {
            PayloadKeys(groups: $0.entities, members: $0.objects, stamp: $0.time)
        }
    }
}

import Tandem
import TandemIO
import TandemJournal

/// The indexes of a journal's segments, held against their segments.
struct IndexVerification {
    let folder: JournalFolder

    /// What is wrong with them; `isDeep` makes each once more and compares.
    func problems(isDeep: Bool) throws -> [VerifyProblem] {
        let check = IndexCheck(directory: folder.path, fileSystem: RealFileSystem())
        let segments = try mapped { try folder.segments() }.map(\.first)
        return zip(segments, segments.dropFirst()).compactMap { first, next in
            let problem = check.problem(
                of: first, before: next, comparing: isDeep ? PayloadKeys.ofTransaction : nil)
            return problem.map { problem in
                VerifyProblem(
                    kind: .index, path: check.path(of: first), positions: first...(next - 1),
                    message: "\(problem); remove it, and the daemon makes it anew when it starts")
            }
        }
    }
}

extension PayloadKeys {
    /// By what an index finds a transaction; what the daemon says of it.
    static let ofTransaction: PayloadReading = { payload in
        guard let transaction = try? EncodedTransaction(bytes: payload),
            let touched = try? transaction.touched()
        else { return nil }
        return PayloadKeys(
            groups: touched.entities, members: touched.objects, stamp: transaction.time)
    }
}

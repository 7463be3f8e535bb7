import Tandem
import TandemIO

/// Asks before an operation that can't be undone.
enum Confirmation {
    /// Asks a question, and returns if the answer is yes; does not ask if `isGiven`.
    ///
    /// For any other answer, and at the end of input, throws a failure whose message says that
    /// nothing was changed.
    static func ask(_ question: String, unless isGiven: Bool) throws {
        guard !isGiven else { return }
        StandardStream.error.write("\(question.printable) [y/N] ")
        let answer = (try? StandardInput().readLine()).flatMap { $0 } ?? []
        guard answer.first == UInt8(ascii: "y") || answer.first == UInt8(ascii: "Y") else {
            throw CommandFailure("not confirmed, so nothing was changed; --yes skips the question")
        }
    }
}

import Tandem
import TandemIO

/// Asks before something that can't be taken back.
enum Confirmation {
    /// Returns when the answer is yes, or when nobody is to be asked.
    ///
    /// Throws a failure that says that nothing was changed for any other answer, and for the end of input.
    static func ask(_ question: String, unless isGiven: Bool) throws {
        guard !isGiven else { return }
        StandardStream.error.write("\(question.printable) [y/N] ")
        let answer = (try? StandardInput().readLine()).flatMap { $0 } ?? []
        guard answer.first == UInt8(ascii: "y") || answer.first == UInt8(ascii: "Y") else {
            throw CommandFailure("nothing was changed (--yes skips the question)")
        }
    }
}

#if Macros
import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxMacros

/// The errors found in one use of a macro.
struct Problems {
    private(set) var diagnostics: [Diagnostic] = []

    /// Records an error at a node.
    ///
    /// `name` identifies the kind of error.
    mutating func report(
        _ name: String, at node: some SyntaxProtocol, _ message: String, fix: FixIt? = nil
    ) {
        diagnostics.append(
            Diagnostic(
                node: node, message: Message(text: message, name: name),
                fixIts: fix.map { [$0] } ?? []))
    }

    /// Passes the errors to the compiler, in the order of their positions.
    func emit(in context: some MacroExpansionContext) {
        for diagnostic in diagnostics.sorted(by: { $0.position < $1.position }) {
            context.diagnose(diagnostic)
        }
    }

    /// The text of an error.
    private struct Message: DiagnosticMessage {
        let text: String
        let name: String

        var message: String { text }
        var diagnosticID: MessageID { MessageID(domain: "Tandem", id: name) }
        var severity: DiagnosticSeverity { .error }
    }
}

extension FixIt {
    /// Creates a fix-it that replaces a node.
    static func replacing(
        _ message: String, _ old: some SyntaxProtocol, with new: some SyntaxProtocol
    ) -> FixIt {
        FixIt(
            message: Suggestion(message: message),
            changes: [.replace(oldNode: Syntax(old), newNode: Syntax(new))])
    }

    /// The text of a fix-it.
    private struct Suggestion: FixItMessage {
        let message: String

        var fixItID: MessageID { MessageID(domain: "Tandem", id: message) }
    }
}
#endif

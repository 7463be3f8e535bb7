#if Macros
import SwiftSyntax

/// The arguments of an `@Attribute`, `@Relationship` or `@Model`.
struct PropertyArguments {
    /// The string literal of the name, which is the first argument.
    private(set) var name: StringLiteralExprSyntax?
    /// The names of the options, such as `unique`.
    private(set) var options: Set<String> = []
    /// The arguments with labels, in order.
    private(set) var labelled: [(label: String, value: ExprSyntax)] = []
    /// The arguments without labels, in order.
    private(set) var unlabelled: [ExprSyntax] = []

    /// Reads the arguments, without interpreting the name and the options.
    init(_ attribute: AttributeSyntax?) {
        guard let list = attribute?.arguments?.as(LabeledExprListSyntax.self) else { return }
        for argument in list {
            if let label = argument.label {
                labelled.append((label.plainText, argument.expression))
            } else {
                unlabelled.append(argument.expression)
            }
        }
    }

    /// Reads the arguments, and reports an error if the name is not a plain string literal.
    init(_ attribute: AttributeSyntax?, _ problems: inout Problems) {
        self.init(attribute)
        for value in unlabelled {
            if let option = value.as(MemberAccessExprSyntax.self) {
                options.insert(option.declName.baseName.plainText)
            } else if value.isPlainStringLiteral {
                name = value.as(StringLiteralExprSyntax.self)
            } else if !value.is(NilLiteralExprSyntax.self) {
                problems.report(
                    "name", at: value, "a name must be a string literal without interpolation")
            }
        }
    }

    /// Returns the argument with a label.
    subscript(label: String) -> ExprSyntax? { labelled.first { $0.label == label }?.value }

    /// Returns the argument with a label, or nil if it is missing or the literal `nil`.
    func value(_ label: String) -> ExprSyntax? {
        self[label].flatMap { $0.is(NilLiteralExprSyntax.self) ? nil : $0 }
    }

    /// Returns the labelled arguments as code, leaving out those with the given labels.
    func code(without labels: Set<String> = []) -> [String] {
        labelled.filter { !labels.contains($0.label) }
            .map { "\($0.label): \($0.value.trimmedDescription)" }
    }
}

extension AttributeListSyntax {
    /// Returns the first attribute named `name`, such as `Attribute`.
    func first(named name: String) -> AttributeSyntax? {
        lazy.compactMap { $0.as(AttributeSyntax.self) }.first { $0.plainName == name }
    }
}

extension AttributeSyntax {
    /// The name without the module.
    var plainName: String {
        if let member = attributeName.as(MemberTypeSyntax.self) { return member.name.plainText }
        return attributeName.as(IdentifierTypeSyntax.self)?.name.plainText ?? ""
    }
}
#endif

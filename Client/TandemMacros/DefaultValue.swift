#if Macros
import SwiftSyntax

/// The initial value of a stored property as the default of its attribute.
struct DefaultValue {
    let expression: ExprSyntax

    /// Whether the initial value is nil, which does not count as a default.
    var isNil: Bool { expression.is(NilLiteralExprSyntax.self) }

    /// Whether the initial value is nil or an empty array literal, both of which are allowed for a
    /// relationship.
    var isEmpty: Bool {
        isNil || expression.as(ArrayExprSyntax.self)?.elements.isEmpty == true
    }

    /// Returns whether each evaluation may yield a different value, as `Date()` does.
    ///
    /// `attributeType` is nil for types that are not built in.
    func isDynamic(_ attributeType: String?) -> Bool {
        let types = ["date": "Date", "uuid": "UUID"]
        // The type of an implicit member, such as `.now`.
        let implied = attributeType.flatMap { types[$0] }
        guard let call = expression.as(FunctionCallExprSyntax.self) else {
            let member = expression.as(MemberAccessExprSyntax.self)
            return member?.declName.baseName.plainText == "now"
                && (member?.base.map(\.libraryType) ?? implied) == "Date"
        }
        let callee = call.calledExpression
        var type = callee.libraryType
        if let member = callee.as(MemberAccessExprSyntax.self),
            member.declName.baseName.plainText == "init"
        {
            type = member.base.map(\.libraryType) ?? implied
        }
        switch call.arguments.first?.label?.plainText {
        case nil: return call.arguments.isEmpty && types.values.contains(type ?? "")
        case let label?: return type == "Date" && label == "timeIntervalSinceNow"
        }
    }

    /// The type name of a number, Boolean or string literal; nil for any other expression.
    var literalType: String? {
        if isNumber(IntegerLiteralExprSyntax.self) { return "Int" }
        if isNumber(FloatLiteralExprSyntax.self) { return "Double" }
        if expression.is(BooleanLiteralExprSyntax.self) { return "Bool" }
        return expression.is(StringLiteralExprSyntax.self) ? "String" : nil
    }

    /// Returns the code that converts this expression, which has the type `type`, to an attribute
    /// value.
    ///
    /// `attributeType` is nil for types that are not built in.
    func code(_ type: TypeSyntax, _ attributeType: String?, isOptional: Bool) -> String {
        let text = expression.trimmedDescription
        switch (attributeType, literalType) {
        case ("int", "Int"), ("double", "Double"), ("double", "Int"), ("bool", "Bool"):
            return ".\(attributeType ?? "")(\(text))"
        case ("string", "String") where expression.isPlainStringLiteral: return ".string(\(text))"
        default: break
        }
        return isOptional
            ? "(\(text) as \(type.trimmed)?)?.attributeValue ?? .null"
            : "(\(text) as \(type.trimmed)).attributeValue"
    }

    /// Returns whether the expression is a literal of this kind, possibly with a minus sign.
    private func isNumber(_ kind: (some ExprSyntaxProtocol).Type) -> Bool {
        if let negative = expression.as(PrefixOperatorExprSyntax.self) {
            return negative.operator.text == "-" && negative.expression.is(kind)
        }
        return expression.is(kind)
    }
}

extension ExprSyntax {
    /// The last component of an expression that may name a type of the standard library or
    /// Foundation, such as `Foundation.Date`.
    fileprivate var libraryType: String? {
        if let name = self.as(DeclReferenceExprSyntax.self) { return name.baseName.plainText }
        guard let member = self.as(MemberAccessExprSyntax.self), let module = member.base,
            PropertyType.libraries.contains(module.trimmedDescription)
        else { return nil }
        return member.declName.baseName.plainText
    }

    /// Whether the expression is a string literal on one line without interpolation.
    var isPlainStringLiteral: Bool {
        guard let text = self.as(StringLiteralExprSyntax.self) else { return false }
        return text.openingQuote.tokenKind == .stringQuote
            && text.segments.allSatisfy { $0.is(StringSegmentSyntax.self) }
    }
}
#endif

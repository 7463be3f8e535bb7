#if Macros
public import SwiftSyntax
import SwiftSyntaxBuilder
public import SwiftSyntaxMacros

/// The expansion of `@Attribute`, `@Relationship` and `@Transient`, which is empty, because
/// `@Model` interprets these macros.
open class PropertyExpansion: PeerMacro {
    /// Expands to nothing; reports an error if the macro is used outside a class with `@Model`.
    public static func expansion(
        of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        context.reportOutsideModel(node, name: "@\(node.plainName)")
        return []
    }
}

/// The expansion of `#Index` and `#Unique`, which is empty, because `@Model` interprets these
/// macros.
open class PropertyListExpansion: DeclarationMacro {
    /// Expands to nothing; reports an error if the macro is used outside a class with `@Model`.
    public static func expansion(
        of node: some FreestandingMacroExpansionSyntax, in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        context.reportOutsideModel(node, name: "#\(node.macroName.plainText)")
        return []
    }
}

extension MacroExpansionContext {
    /// Reports an error if a macro is used outside a class with `@Model`, where it has no effect.
    fileprivate func reportOutsideModel(_ node: some SyntaxProtocol, name: String) {
        let owner = lexicalContext.first?.as(ClassDeclSyntax.self)
        guard owner?.attributes.first(named: "Model") == nil else { return }
        var problems = Problems()
        problems.report(
            "outside", at: node, "`\(name)` has an effect only in a class with `@Model`")
        problems.emit(in: self)
    }
}
#endif

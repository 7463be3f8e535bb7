#if Macros
public import SwiftSyntax
import SwiftSyntaxBuilder
public import SwiftSyntaxMacros

/// The expansion of `@Model`: the entity, `@Managed` on its properties, and the conformance.
open class ModelExpansion: MemberMacro, MemberAttributeMacro, ExtensionMacro {
    /// Returns the property `entity`, and reports every error in the declaration.
    public static func expansion(
        of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax,
        conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        var problems = Problems()
        let model = ModelDeclaration(node, declaration, &problems)
        problems.emit(in: context)
        return model?.members ?? []
    }

    /// Returns `@Managed` for a property of the entity.
    public static func expansion(
        of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
        providingAttributesFor member: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [AttributeSyntax] {
        // Errors are reported by the expansion of the members.
        var ignored = Problems()
        guard declaration.is(ClassDeclSyntax.self),
            let variable = member.as(VariableDeclSyntax.self),
            let property = ModelProperty.read(variable, &ignored)
        else { return [] }
        return [property.wrapper]
    }

    /// Returns the conformance to `ManagedEntity`, unless the class or a superclass declares it.
    public static func expansion(
        of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
        providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
        in context: some MacroExpansionContext
    ) throws -> [ExtensionDeclSyntax] {
        var ignored = Problems()
        guard !protocols.isEmpty, ModelDeclaration(node, declaration, &ignored) != nil else {
            return []
        }
        return [try ExtensionDeclSyntax("extension \(type.trimmed): ManagedEntity {}")]
    }
}
#endif

//! A plan in canonical form, from showplan XML.
//!
//! One line an operator: its name, then properties that distinguish plans, and none that depend on the data's size,
//! estimates or the number of threads; the estimates follow ` # `. `~ ` marks operators that only move rows between
//! threads, and the partial half of an aggregate.
//!
//! Source: the schema of showplan XML (schemas.microsoft.com/sqlserver/2004/07/showplan); its other elements and
//! attributes are left out.

use roxmltree::{Document, Node};
use threadwise_engine::workloads::tpch::plan_line;

/// Beginning of a showplan text.
pub(super) const BEGINS: &str = "<ShowPlanXML";

/// Elements whose columns distinguish plans, and their labels.
const COLUMNS: [(&str, &str); 6] = [
    ("HashKeysBuild", "keys"),
    ("InnerSideJoinColumns", "keys"),
    ("GroupBy", "by"),
    ("OrderBy", "order"),
    ("SeekKeys", "seek"),
    ("OuterReferences", "for each"),
];

/// The canonical text of the first statement's plan.
///
/// # Errors
/// It is not such a plan; one line.
pub(super) fn read(xml: &str) -> Result<String, String> {
    let document = Document::parse(xml).map_err(|cause| format!("the plan is not XML: {cause}"))?;
    let root = document.descendants().find(|node| node.has_tag_name_of("RelOp"));
    let root = root.ok_or("the plan has no operator")?;
    let mut text = String::new();
    write(root, 0, &mut text);
    Ok(text)
}

/// Names without their namespace, which has been the same since 2005.
trait Named {
    fn has_tag_name_of(&self, name: &str) -> bool;
}

impl Named for Node<'_, '_> {
    fn has_tag_name_of(&self, name: &str) -> bool {
        self.is_element() && self.tag_name().name() == name
    }
}

fn write(operator: Node<'_, '_>, depth: usize, text: &mut String) {
    let number = |name: &str| operator.attribute(name).and_then(|text| text.parse::<f64>().ok());
    let estimates = number("EstimateRows").zip(number("EstimatedTotalSubtreeCost"));
    text.push_str(&plan_line(depth, &line(operator), estimates));
    for child in below(operator) {
        write(child, depth + 1, text);
    }
}

/// The operators directly below one, in order.
fn below<'a, 'input>(operator: Node<'a, 'input>) -> Vec<Node<'a, 'input>> {
    let mut found = Vec::new();
    for child in operator.children().filter(Node::is_element) {
        match child.has_tag_name_of("RelOp") {
            true => found.push(child),
            false => found.extend(below(child)),
        }
    }
    found
}

/// All elements of a name that belong to an operator and to none below it.
fn own_elements<'a, 'input>(operator: Node<'a, 'input>, name: &str) -> Vec<Node<'a, 'input>> {
    let mut found = Vec::new();
    for child in operator.children().filter(|child| child.is_element() && !child.has_tag_name_of("RelOp")) {
        match child.has_tag_name_of(name) {
            true => found.push(child),
            false => found.extend(own_elements(child, name)),
        }
    }
    found
}

fn line(operator: Node<'_, '_>) -> String {
    let attribute = |name: &str| operator.attribute(name).unwrap_or_default();
    let (physical, logical) = (attribute("PhysicalOp"), attribute("LogicalOp"));
    let moves = physical == "Parallelism" || logical.starts_with("Partial");
    let mut line = if moves { "~ ".to_owned() } else { String::new() };
    line.push_str(physical);
    if logical != physical && !logical.is_empty() {
        line.push_str(&format!(" ({logical})"));
    }
    if let Some(object) = own_elements(operator, "Object").first() {
        let bare = |name: &str| object.attribute(name).map(|name| name.trim_matches(['[', ']']).to_owned());
        let names: Vec<String> = [bare("Table"), bare("Index")].into_iter().flatten().collect();
        line.push_str(&format!(" on {}", names.join(".")));
        if let Some(alias) = bare("Alias").filter(|alias| names.first() != Some(alias)) {
            line.push_str(&format!(" {alias}"));
        }
    }
    for (element, shown) in COLUMNS {
        let columns: Vec<&str> = own_elements(operator, element)
            .iter()
            .flat_map(|part| part.descendants())
            .filter(|node| node.has_tag_name_of("ColumnReference"))
            .filter_map(|column| column.attribute("Column"))
            // Names that the optimizer generates are numbered through, and change with the rest of the plan.
            .filter(|column| {
                !["Expr", "Union", "Bitmap", "Const"].iter().any(|made| column.starts_with(made))
            })
            .collect();
        if !columns.is_empty() {
            line.push_str(&format!("; {shown} {}", columns.join(", ")));
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = r#"<ShowPlanXML xmlns="http://schemas.microsoft.com/sqlserver/2004/07/showplan" Version="1.5">
<BatchSequence><Batch><Statements><StmtSimple><QueryPlan>
<RelOp NodeId="0" PhysicalOp="Parallelism" LogicalOp="Gather Streams" EstimateRows="2" EstimatedTotalSubtreeCost="1.5">
 <Parallelism><OrderBy><OrderByColumn Ascending="true"><ColumnReference Column="l_returnflag"/></OrderByColumn></OrderBy>
 <RelOp PhysicalOp="Hash Match" LogicalOp="Partial Aggregate" EstimateRows="6" EstimatedTotalSubtreeCost="1.25">
  <Hash><HashKeysBuild><ColumnReference Column="l_returnflag"/><ColumnReference Column="Expr1004"/></HashKeysBuild>
  <RelOp PhysicalOp="Clustered Index Scan" LogicalOp="Clustered Index Scan" EstimateRows="6e6" EstimatedTotalSubtreeCost="1">
   <IndexScan><Object Database="[d]" Schema="[s]" Table="[lineitem]" Index="[primary_lineitem]" Alias="[l1]"/></IndexScan>
  </RelOp></Hash></RelOp></Parallelism></RelOp>
</QueryPlan></StmtSimple></Statements></Batch></BatchSequence></ShowPlanXML>"#;

    #[test]
    fn operators_have_what_tells_plans_apart_and_estimates_behind() {
        assert_eq!(
            read(PLAN).unwrap(),
            "~ Parallelism (Gather Streams); order l_returnflag # rows=2 cost=1.5\n\
             \x20 ~ Hash Match (Partial Aggregate); keys l_returnflag # rows=6 cost=1.25\n\
             \x20   Clustered Index Scan on lineitem.primary_lineitem l1 # rows=6000000 cost=1\n"
        );
    }

    #[test]
    fn what_is_no_plan_is_an_error() {
        assert!(read("42").unwrap_err().contains("not XML"));
        assert!(read("<ShowPlanXML/>").unwrap_err().contains("no operator"));
    }
}
